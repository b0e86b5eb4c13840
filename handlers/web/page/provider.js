// The login of an operator at an OpenID provider. A random verifier stays in this tab while the browser is there;
// the server has only its hash, so that the answer of the provider is of use to this tab alone.

import { call, logInOperator, Refusal } from "./api.js";

const key = "verifier";

const encode = (bytes) =>
  btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

// begin leaves the page for the provider.
export async function begin() {
  const verifier = encode(crypto.getRandomValues(new Uint8Array(32)));
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier)));
  const { url } = await call("GET", `/admin/oidc?challenge=${encode(hash)}`, undefined, {}, null);
  sessionStorage.setItem(key, verifier);
  location.assign(url);
}

// finish logs in by what the provider has told.
export async function finish(told) {
  const verifier = sessionStorage.getItem(key);
  sessionStorage.removeItem(key);
  if (!verifier || !told.has("code")) { // the person has said no there, or this is another tab
    throw new Refusal(403, "OIDC_REFUSED", "");
  }
  await logInOperator("/admin/oidc", { code: told.get("code"), state: told.get("state"), verifier });
}
