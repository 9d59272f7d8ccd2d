// SPDX-License-Identifier: Apache-2.0
//
// page-fetch.js - a page as the daemon makes it, to take parts of it over.

/** The page at an address as a document; nothing in it runs. */
export function fetchPage(address) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('GET', address);
    request.responseType = 'document';
    request.onload = () => (request.status === 200 && request.response
      ? resolve(request.response) : reject(new Error(`status ${request.status}`)));
    request.onerror = () => reject(new Error('no connection'));
    request.send();
  });
}
