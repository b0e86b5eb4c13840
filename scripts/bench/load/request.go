package load

import "strconv"

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

func appendLoginBody(b []byte, name, password string) []byte {
	b = append(b, `{"username":`...)
	b = appendText(b, name)
	b = append(b, `,"password":`...)
	b = appendText(b, password)
	return append(b, '}')
}

func appendAddBody(b []byte, foodID int64) []byte {
	b = append(b, `{"food_id":`...)
	b = strconv.AppendInt(b, foodID, 10)
	return append(b, `,"count":1}`...)
}

func appendOrderBody(b []byte, cartID string) []byte {
	b = append(b, `{"cart_id":`...)
	b = appendText(b, cartID)
	return append(b, '}')
}
