// SPDX-License-Identifier: Apache-2.0
//
// chat.js - a chat: rooms at the side, the messages of one of them, and a line to write.

import { connect } from '/client/tidemark.js';
import '/client/tide-scroller.js';

const db = connect(location.origin);

/** The messages of a room. No cursor, no order, no page size: the collection knows them. */
class ChatWidget extends HTMLElement {
  #list;

  openRoom(roomId) {
    this.#list?.remove();
    const list = document.createElement('tide-scroller');
    const template = document.querySelector('#message').cloneNode(true);
    template.removeAttribute('id');
    list.append(template);
    list.db = db;
    list.setAttribute('collection', 'chat_messages');
    list.setAttribute('filter', JSON.stringify({ roomId, status: 'sent' }));
    list.setAttribute('flow', 'up');
    list.setAttribute('live', '');
    list.setAttribute('aria-label', 'Messages');
    this.append(list);
    this.#list = list;
    this.roomId = roomId;
  }

  get list() {
    return this.#list;
  }
}
customElements.define('chat-widget', ChatWidget);

const widget = document.querySelector('chat-widget');
const rooms = document.querySelector('#rooms');
const composer = document.querySelector('#composer');
const trouble = document.querySelector('#trouble');
const total = document.querySelector('#total');

function enter(button, room) {
  for (const other of rooms.querySelectorAll('[aria-current]')) other.removeAttribute('aria-current');
  button.setAttribute('aria-current', 'true');
  document.querySelector('#room-name').textContent = room.name;
  composer.hidden = false;
  widget.openRoom(room.id);
  composer.elements.text.focus();
}

/** Done by the daemon, or told. */
async function attempt(work) {
  trouble.hidden = true;
  try {
    return await work();
  } catch (error) {
    trouble.textContent = error.message;
    trouble.hidden = false;
    return undefined;
  }
}

rooms.renderRow = (element, room) => {
  const button = element.querySelector('button');
  button.onclick = () => enter(button, room);
};

widget.addEventListener('tide-page', ({ detail: { page } }) => {
  total.textContent = page.totalCount === null ? '' : `${page.totalCount} messages`;
});

document.querySelector('#new-room').addEventListener('submit', (event) => {
  event.preventDefault();
  const form = event.target;
  const now = new Date().toISOString();
  attempt(async () => {
    await db.create('rooms', { name: form.elements.name.value, lastActivityAt: now, createdAt: now });
    form.reset();
  });
});

composer.addEventListener('submit', (event) => {
  event.preventDefault();
  const { who, text } = composer.elements;
  const message = {
    roomId: widget.roomId,
    senderId: who.value,
    senderName: who.value,
    text: text.value,
    status: 'sent',
    timestamp: new Date().toISOString(),
  };
  attempt(async () => {
    await db.create('chat_messages', message);
    await db.update('rooms', message.roomId, { lastActivityAt: message.timestamp });
    if (text.value === message.text) text.value = '';
    widget.list.showNew();
    text.focus();
  });
});
