// What all modules need of the document. Text is only ever set as text, never as HTML.

export const byId = (id) => document.getElementById(id);

// make returns an element with attributes and children, which are elements or texts.
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// setText changes a text only where it differs: less to paint, and less to read aloud.
export function setText(element, text) {
  if (element.textContent !== String(text)) {
    element.textContent = text;
  }
}

// setFigure is setText for a figure that must fit into its box: the style sheet makes one of more characters smaller.
export function setFigure(element, text, chars = text.length) {
  setText(element, text);
  element.style.setProperty("--chars", chars);
}

// tell shows a message. kind is good, bad or "".
export function tell(element, kind, text) {
  element.dataset.kind = kind;
  delete element.dataset.unreached;
  setText(element, text);
}

// announce has a screen reader say something that is important wherever the reader is.
export const announce = (text) => setText(byId("announcer"), text);

// bars fills a list with names and their numbers, each with a bar as long as its part of the largest one.
export function bars(list, entries, format) {
  const largest = Math.max(1, ...entries.map(([, n]) => n));
  list.replaceChildren(...entries.map(([name, n]) => {
    const line = make("li", {}, make("span", {}, name), make("b", {}, format(n)));
    line.style.setProperty("--part", n / largest);
    return line;
  }));
}

// drawList draws a list of [key, thing]. An item stays the same element as long as its key is there: it keeps the
// focus. items are the drawn ones by key.
export function drawList(list, items, wanted, newItem, draw) {
  const keys = new Set(wanted.map(([key]) => key));
  for (const [key, item] of items) {
    if (!keys.has(key)) {
      item.remove();
      items.delete(key);
    }
  }
  wanted.forEach(([key, thing], i) => {
    const item = items.get(key) ?? newItem(key);
    items.set(key, item);
    draw(item, thing);
    if (list.children[i] !== item) {
      list.insertBefore(item, list.children[i] ?? null);
    }
  });
}

let answer = () => {}; // for whoever asked last

// ask opens the dialog for an act and resolves to whether it was confirmed. An act that takes something away from
// buyers is dangerous and looks so. The focus is on Cancel.
export function ask(title, text, act, dangerous = false) {
  const dialog = byId("confirm");
  answer(dialog.returnValue === "yes"); // the event of the last closing may still be to come
  setText(byId("confirm-title"), title);
  setText(byId("confirm-text"), text);
  setText(byId("confirm-yes"), act);
  byId("confirm-yes").className = dangerous ? "primary danger" : "primary";
  dialog.returnValue = "no";
  dialog.onclose = () => dialog.open || answer(dialog.returnValue === "yes");
  dialog.showModal();
  return new Promise((resolve) => { answer = resolve; });
}

// turnOff has a button do nothing, or something again. It is not disabled: it would lose the keyboard's focus.
export function turnOff(button, off) {
  if (button.ariaDisabled !== String(off)) {
    button.ariaDisabled = off;
  }
}
