// Server-sent events over fetch: unlike EventSource it can send a token in a header, and tells why a
// connection has failed.

const silenceMax = 40_000; // ms; the server sends something at least every 15 s
const delayMax = 30_000;

// Parser takes the text of a stream in pieces and calls onMessage with each message, and onRetry with each
// delay that the server wants.
export class Parser {
  constructor(onMessage, onRetry = () => {}) {
    this.onMessage = onMessage;
    this.onRetry = onRetry;
    this.rest = "";
    this.id = "";
    this.clear();
  }

  clear() {
    this.event = "message";
    this.data = [];
  }

  push(text) {
    const lines = (this.rest + text).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop();
    for (const line of lines) {
      this.line(line);
    }
  }

  line(line) {
    if (line === "") {
      if (this.data.length > 0) {
        this.onMessage({ event: this.event, id: this.id, data: this.data.join("\n") });
      }
      this.clear();
      return;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") {
      this.event = value;
    } else if (field === "data") {
      this.data.push(value);
    } else if (field === "id" && !value.includes("\0")) {
      this.id = value;
    } else if (field === "retry" && /^\d+$/.test(value)) {
      this.onRetry(Number(value));
    }
  }
}

// backOff is the time in ms before another attempt: it doubles, and is spread, so that viewers who have lost
// the same server do not come back at the same moment.
export function backOff(attempt, first, random = Math.random()) {
  return Math.min(delayMax, first * 2 ** attempt) * (0.5 + random / 2);
}

// Stream reads a stream of events, and connects again whenever it ends. onState is called with "live", or with
// "lost" and the ms until the next attempt and the status of a reply that was no stream.
export class Stream {
  constructor(url, headers, onMessage, onState) {
    Object.assign(this, { url, headers, onMessage, onState });
    this.attempt = 0;
    this.retry = 1000;
    this.lastID = "";
    this.run = 0; // counts connections; an older one that still ends is not heeded
  }

  start() {
    this.stop();
    const run = ++this.run;
    this.abort = new AbortController();
    this.read(this.abort).then(() => 0, (error) => error.status ?? 0).then((status) => {
      if (run === this.run) {
        this.lose(status);
      }
    });
  }

  stop() {
    this.run++;
    clearTimeout(this.timer);
    clearTimeout(this.silence);
    this.abort?.abort();
  }

  lose(status) {
    clearTimeout(this.silence);
    const delay = backOff(this.attempt++, this.retry);
    this.timer = setTimeout(() => this.start(), delay); // onState may start or stop the stream
    this.onState("lost", delay, status);
  }

  async read(abort) {
    const hear = () => {
      clearTimeout(this.silence);
      this.silence = setTimeout(() => abort.abort(), silenceMax);
    };
    hear();
    const headers = { Accept: "text/event-stream", ...this.headers() };
    if (this.lastID !== "") {
      headers["Last-Event-ID"] = this.lastID;
    }
    const reply = await fetch(this.url, { headers, signal: abort.signal, cache: "no-store", credentials: "omit" });
    if (!reply.ok || !reply.headers.get("Content-Type")?.startsWith("text/event-stream")) {
      abort.abort();
      throw Object.assign(new Error("no stream"), { status: reply.status });
    }
    this.onState("live");
    const parser = new Parser((message) => this.take(message), (ms) => { this.retry = ms; });
    parser.id = this.lastID;
    const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        return;
      }
      hear();
      parser.push(value);
    }
  }

  take(message) {
    this.attempt = 0;
    this.lastID = message.id;
    this.onMessage(message);
  }
}
