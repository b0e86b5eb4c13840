// Acts in the chat that a person has asked for.

import { byId, tell } from "./dom.js";
import { tellError } from "./messages.js";
import { changed } from "./talk.js";

// attempt shows the error of an act in an element, and resolves to whether it was done.
export async function attempt(act, message = byId("chat-message")) {
  tell(message, "", "");
  try {
    await act;
    return true;
  } catch (error) {
    tellError(message, error);
    changed(); // what could not be changed is shown as it was
    return false;
  }
}
