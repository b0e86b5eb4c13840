// The words of the page in the language of the person. English stands in the code and in index.html; each other
// language is one file, which maps the English texts to its own.

const key = "language";
const files = { zh: "/web/zh.js" };

export const languages = { en: "English", zh: "中文" };

function chosen() {
  try {
    const stored = localStorage.getItem(key);
    if (stored in languages) {
      return stored;
    }
  } catch {
    // the browser stores nothing
  }
  return navigator.languages.map((tag) => tag.split("-")[0]).find((name) => name in languages) ?? "en";
}

export const language = chosen();

const words = language in files ? (await import(files[language])).words : {};

// say is an English text in the person's language; {name} in it stands for a value.
export const say = (text, values = {}) => (words[text] ?? text).replace(/\{(\w+)\}/g, (_, name) => values[name]);

// sayCount is say for a number of things, {n}: one, or another number of them.
export const sayCount = (n, one, more) => say(n === 1 ? one : more, { n: n.toLocaleString(language) });

// choose has the page speak another language from now on.
export function choose(name) {
  try {
    localStorage.setItem(key, name);
  } catch {
    return; // the browser stores nothing: its own language stays
  }
  location.reload();
}

// translate replaces the texts of a part of index.html.
export function translate(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = node.data.trim().replace(/\s+/g, " ");
    if (text in words && !node.parentElement.closest("[translate=no]")) {
      node.data = words[text];
    }
  }
  for (const name of ["aria-label", "placeholder"]) {
    for (const element of root.querySelectorAll(`[${name}]`)) {
      element.setAttribute(name, say(element.getAttribute(name)));
    }
  }
}
