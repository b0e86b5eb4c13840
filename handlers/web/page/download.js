// Files that the server writes, saved by the browser. The token stays out of the URL.

import * as api from "./api.js";
import { make, setText, tell } from "./dom.js";
import { size } from "./format.js";
import { tellError } from "./messages.js";
import { say } from "./words.js";

// download reads a file as it comes and then has the browser save it. state tells how far it is.
export async function download(path, name, state, signal) {
  const parts = [];
  let bytes = 0;
  try {
    const reply = await api.request("GET", path);
    const reader = reply.body.getReader();
    signal.addEventListener("abort", () => reader.cancel());
    for (;;) {
      const { done, value } = await reader.read();
      signal.throwIfAborted();
      if (done) {
        break;
      }
      parts.push(value);
      bytes += value.length;
      setText(state, `${size(bytes)}…`);
    }
    save(new Blob(parts, { type: "application/octet-stream" }), name);
    tell(state, "good", say("Saved, {size}.", { size: size(bytes) }));
  } catch (error) {
    if (!signal.aborted) {
      tellError(state, error);
    }
  }
}

function save(blob, name) {
  const url = URL.createObjectURL(blob);
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
