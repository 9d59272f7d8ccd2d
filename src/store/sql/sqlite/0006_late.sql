-- SPDX-License-Identifier: Apache-2.0
-- Which commit put a post's time right when a late version showed that it was shared earlier.
ALTER TABLE post ADD COLUMN late_seq INTEGER;
