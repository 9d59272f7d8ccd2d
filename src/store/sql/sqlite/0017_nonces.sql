-- SPDX-License-Identifier: Apache-2.0
-- Numbers of signed requests are reserved up to here before they are sent; NULL: none are needed.
-- Who begins after a restart begins above the highest one.
ALTER TABLE import_sessions ADD COLUMN nonce INTEGER;
CREATE INDEX import_sessions_nonce ON import_sessions (nonce) WHERE nonce IS NOT NULL;
