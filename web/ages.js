// SPDX-License-Identifier: Apache-2.0
//
// ages.js - times as the reader's own clock says them, and ages that grow.

const MINUTE_MS = 60000;
const HOUR_MS = 60 * MINUTE_MS;

export function ageOf(ms) {
  if (ms < MINUTE_MS) return 'just now';
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min ago`;
  if (ms < 48 * HOUR_MS) return `${Math.floor(ms / HOUR_MS)} h ago`;
  return `${Math.floor(ms / (24 * HOUR_MS))} d ago`;
}

function clockOf(date, now) {
  const time = { hour: '2-digit', minute: '2-digit' };
  if (date.toDateString() === now.toDateString()) return date.toLocaleTimeString([], time);
  return date.toLocaleString([], { ...time, day: 'numeric', month: 'short' });
}

export function renewTimes(root = document, now = new Date()) {
  for (const time of root.querySelectorAll('time.age')) {
    const date = new Date(time.dateTime);
    time.textContent = ageOf(now - date);
    time.title = date.toLocaleString();
  }
  for (const time of root.querySelectorAll('time.clock'))
    time.textContent = clockOf(new Date(time.dateTime), now);
}

export function keepTimes() {
  renewTimes();
  setInterval(renewTimes, MINUTE_MS);
}
