// SPDX-License-Identifier: Apache-2.0
//
// page-fetch.js - a page as the daemon makes it, to take parts of it over.

/** The page at an address as a document; nothing in it runs. With `ageSeconds` one that the daemon
 * made for somebody else in that time will do. */
export function fetchPage(address, ageSeconds = 0) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('GET', address);
    request.responseType = 'document';
    if (ageSeconds > 0) request.setRequestHeader('Cache-Control', `max-age=${ageSeconds}`);
    request.onload = () => (request.status === 200 && request.response
      ? resolve(request.response) : reject(new Error(`status ${request.status}`)));
    request.onerror = () => reject(new Error('no connection'));
    request.send();
  });
}
