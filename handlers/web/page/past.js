// The messages of one thread as far as the page has them. Their ids are positions without gaps.

const keptMax = 500; // messages of a thread that is read at its end; older ones can be read again

export class Past {
  constructor() {
    this.epoch = ""; // of the thread, as the pushes tell it
    this.messages = []; // without a gap between the first and the last
    this.first = 1; // the oldest one that is still kept, as far as is known
    this.waiting = []; // own ones without an answer: {key, content, failed, stored}
  }

  get oldest() {
    return this.messages[0]?.id ?? 0;
  }

  get hasOlder() {
    return this.oldest > this.first;
  }

  get newest() {
    return this.messages.at(-1)?.id ?? 0;
  }

  // follows reports whether a message is the next one, or known already.
  follows = (message) => this.messages.length > 0 && message.id <= this.newest + 1;

  // take takes messages in order. Those that lie behind a gap take the place of all before the gap: the page
  // shows no past with a hole.
  take(list) {
    for (const message of list) {
      const at = message.id - this.oldest;
      if (this.messages.length === 0 || message.id > this.newest + 1) {
        this.messages = [message];
      } else if (at >= 0) {
        this.messages[at] = message;
      } // else it is older than what is shown: see takeOlder
      this.settle(message);
    }
  }

  // takeOlder takes the messages right before the oldest one; none are kept where there are none.
  takeOlder(list) {
    if (list.length === 0) {
      this.first = this.oldest;
    }
    const older = list.filter(({ id }) => id < this.oldest);
    if (older.length > 0 && older.at(-1).id === this.oldest - 1) {
      this.messages = [...older, ...this.messages];
    }
  }

  // forget keeps the newest messages only.
  forget() {
    this.messages.splice(0, this.messages.length - keptMax);
  }

  // erase takes the content of a message away.
  erase(id) {
    this.messages = this.messages.map((m) => (m.id === id ? { ...m, removed: true } : m));
  }

  // begin drops everything that was stored: the thread is another one now.
  begin() {
    this.messages = [];
    this.first = 1;
  }

  // settle has an own message that is known to be stored no longer wait. A push tells of it before the answer does,
  // and without its key: the first one with this content is it.
  settle(message) {
    const sent = this.waiting.find((w) => message.user_id === w.user && w.content === message.content && !w.stored &&
      message.id > w.after);
    if (sent) {
      sent.stored = message.id;
    }
  }

  // shown are the own messages that are still to be shown as waiting.
  get shown() {
    return this.waiting.filter((w) => !w.stored);
  }
}
