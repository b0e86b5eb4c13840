// The objects of a list of JSON, found in pieces of its text.

// Splitter finds the objects of a list of JSON in pieces of its text: the list may be far too long to be read
// at once. JSON lines are split as well.
export class Splitter {
  constructor(onObject) {
    Object.assign(this, { onObject, depth: 0, quoted: false, escaped: false, text: "" });
  }

  push(piece) {
    let begin = this.depth > 0 ? 0 : -1;
    for (let i = 0; i < piece.length; i++) {
      const c = piece[i];
      if (this.quoted) {
        this.quoted = this.escaped || c !== '"';
        this.escaped = !this.escaped && c === "\\";
      } else if (c === '"') {
        this.quoted = true;
      } else if (c === "{" && this.depth++ === 0) {
        begin = i;
      } else if (c === "}" && --this.depth === 0) {
        this.onObject(JSON.parse(this.text + piece.slice(begin, i + 1)));
        this.text = "";
        begin = -1;
      }
    }
    if (begin >= 0) {
      this.text += piece.slice(begin);
    }
  }
}
