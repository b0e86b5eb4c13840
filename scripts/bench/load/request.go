package load

import (
	"encoding/json"
	"strconv"
)

// appendRequest appends one whole request in this style. Token and idempotency key are left out when empty;
// path and token must already be fit for a URL.
func (s Style) appendRequest(b []byte, method, path, host, token, key string, body []byte) []byte {
	b = append(b, method...)
	b = append(b, ' ')
	b = append(b, path...)
	if token != "" && s.TokenInQuery {
		b = append(b, "?access_token="...)
		b = append(b, token...)
	}
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, host...)
	if token != "" && !s.TokenInQuery {
		b = append(b, "\r\nAccess-Token: "...)
		b = append(b, token...)
	}
	if key != "" {
		b = append(b, "\r\nIdempotency-Key: "...)
		b = append(b, key...)
	}
	if s.NewConnections {
		b = append(b, "\r\nConnection: close"...)
	}
	if len(body) > 0 {
		b = append(b, "\r\nContent-Type: application/json"...)
	}
	if len(body) > 0 || method != "GET" {
		b = append(b, "\r\nContent-Length: "...)
		b = strconv.AppendInt(b, int64(len(body)), 10)
	}
	b = append(b, "\r\n\r\n"...)
	return append(b, body...)
}

// emptyBody is the body of the calls that need none: old clients send {}.
func (s Style) emptyBody() []byte {
	if s.ContestBodies {
		return []byte("{}")
	}
	return nil
}

type credentials struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

func jsonBody(of any) []byte {
	body, _ := json.Marshal(of) // texts and numbers always encode
	return body
}

// replyTexts are the texts that a buyer needs of a reply. An order sends the cart's back.
type replyTexts struct {
	Token   string `json:"access_token,omitempty"`
	CartID  string `json:"cart_id,omitempty"`
	OrderID string `json:"id,omitempty"`
	Code    string `json:"code,omitempty"`
}

// texts reads a reply; what is no object of texts has no text.
func texts(body []byte) (t replyTexts) {
	_ = json.Unmarshal(body, &t)
	return t
}
