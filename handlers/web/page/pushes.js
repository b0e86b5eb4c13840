// The live connection of the chat: what centrifuge-js needs to know of this server. Without one the caller polls.

import { call, Refusal } from "./api.js";
import "./centrifuge.js";

const { Centrifuge } = globalThis; // the library is no module
const threadChannel = (id) => `thread:${id}`;

class Pushes {
  on = null; // functions: link (live or not), event (of the user), message (of the followed thread), begun (the thread
  // is followed, whether nothing was missed, its epoch) and lost (the right to read it)
  client = null;
  sub = null;
  wanted = null; // the thread to follow

  // start connects, if that is still wanted when the server has told where.
  async start(isWanted) {
    const { url, ticket, reconnect } = await call("GET", "/push");
    if (!isWanted()) {
      return;
    }
    this.end();
    const client = new Centrifuge(url, { token: ticket, getToken, name: "page",
      minReconnectDelay: reconnect.min_ms, maxReconnectDelay: reconnect.max_ms });
    this.client = client;
    client.on("connected", () => this.on.link(true));
    client.on("connecting", ({ code }) => code !== 0 && this.on.link(false)); // 0: the first time
    client.on("disconnected", () => this.client === client && this.on.link(false));
    client.on("error", () => client.state !== "connected" && this.on.link(false)); // the library tries again
    client.on("publication", ({ data }) => this.on.event(data));
    this.follow(this.wanted);
    client.connect();
  }

  // wake connects again where the server has ended the connection for good, as it does with idle ones.
  wake() {
    this.client?.connect();
  }

  // stop ends the connection, and no thread is wanted any more.
  stop() {
    this.wanted = null;
    this.end();
  }

  end() {
    const client = this.client;
    this.client = this.sub = null;
    client?.disconnect();
  }

  // follow gets the messages of a thread from a position on, {id, epoch, offset}; null for no thread.
  follow(wanted) {
    this.wanted = wanted;
    const before = this.sub;
    this.sub = null;
    this.client?.removeSubscription(before); // which ends it
    if (!wanted || !this.client) {
      return;
    }
    const since = wanted.epoch ? { offset: wanted.offset, epoch: wanted.epoch } : null;
    const sub = this.client.newSubscription(threadChannel(wanted.id), { since, recoverable: true, positioned: true });
    this.sub = sub;
    sub.on("publication", ({ data }) => this.on.message(data));
    sub.on("subscribed", ({ wasRecovering, recovered, streamPosition }) => {
      this.on.begun(wanted.id, wasRecovering && recovered, streamPosition?.epoch ?? "");
    });
    sub.on("unsubscribed", () => this.sub === sub && this.on.lost(wanted.id));
    sub.on("error", () => {}); // it is tried again
    sub.subscribe();
  }

  // ask makes a call over the connection.
  async ask(method, data = {}) {
    return (await this.client.rpc(method, data)).data;
  }
}

export const pushes = new Pushes();

async function getToken() {
  try {
    return (await call("GET", "/push")).ticket;
  } catch (error) {
    if (error instanceof Refusal && [401, 403, 404].includes(error.status)) {
      throw new Centrifuge.UnauthorizedError("");
    }
    throw error;
  }
}
