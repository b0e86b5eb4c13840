package load

import (
	"bytes"
	"encoding/json"
)

// appendText appends s as a JSON string. Plain text, the rule, skips the encoder and its allocation.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(s) // a string always encodes
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// textField returns the text under a name in a JSON object, "" when there is none. The server's own compact
// form is found without decoding; any other form goes through the decoder.
func textField(body []byte, name string) string {
	for rest := body; ; {
		i := bytes.Index(rest, []byte(name))
		if i < 0 {
			break
		}
		after := rest[i+len(name):]
		begins := bytes.HasSuffix(rest[:i], []byte(`{"`)) || bytes.HasSuffix(rest[:i], []byte(`,"`))
		if begins && bytes.HasPrefix(after, []byte(`":"`)) {
			text, _, found := bytes.Cut(after[3:], []byte(`"`))
			if found && bytes.IndexByte(text, '\\') < 0 {
				return string(text)
			}
			break
		}
		rest = after
	}
	var object map[string]json.RawMessage
	var text string
	if json.Unmarshal(body, &object) != nil || json.Unmarshal(object[name], &text) != nil {
		return ""
	}
	return text
}
