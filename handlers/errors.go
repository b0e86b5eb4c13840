package handlers

import (
	"errors"
	"fmt"

	"flashsale/internal/rooms/limits"
	"flashsale/internal/rooms/traffic"
	"flashsale/redisx"
)

// failure is an error reply: a status and its ready-made body.
type failure struct {
	status int
	code   string
	body   []byte
}

func newFailure(status int, code, message string) *failure {
	return &failure{status: status, code: code,
		body: fmt.Appendf(nil, `{"code":%q,"message":%q}`, code, message)}
}

// failures are those below.
var failures []*failure

// known makes a failure of the list.
func known(status int, code, message string) *failure {
	f := newFailure(status, code, message)
	failures = append(failures, f)
	return f
}

var (
	errInvalidToken   = known(401, "INVALID_ACCESS_TOKEN", "无效的令牌")
	errEmptyRequest   = known(400, "EMPTY_REQUEST", "请求体为空")
	errMalformedJSON  = known(400, "MALFORMED_JSON", "格式错误")
	errUserAuth       = known(403, "USER_AUTH_FAIL", "用户名或密码错误")
	errCartNotFound   = known(404, "CART_NOT_FOUND", "篮子不存在")
	errNotYourCart    = known(401, "NOT_AUTHORIZED_TO_ACCESS_CART", "无权限访问指定的篮子")
	errFoodNotFound   = known(404, "FOOD_NOT_FOUND", "食物不存在")
	errFoodLimit      = known(403, "FOOD_OUT_OF_LIMIT", "篮子中食物数量超过了三个")
	errCartEmpty      = known(403, "CART_EMPTY", "篮子为空")
	errFoodOutOfStock = known(403, "FOOD_OUT_OF_STOCK", "食物库存不足")
	errOrderLimit     = known(403, "ORDER_OUT_OF_LIMIT", "每个用户只能下一单")
	errNotOpen        = known(403, "SALE_NOT_OPEN", "抢购未开始")
	errPaused         = known(403, "SALE_PAUSED", "抢购已暂停")
	errClosed         = known(403, "SALE_CLOSED", "抢购已结束")
	errUnavailable    = known(503, "SERVICE_UNAVAILABLE", "服务繁忙")

	errNotFound          = known(404, "NOT_FOUND", "路径不存在")
	errMethodNotAllowed  = known(405, "METHOD_NOT_ALLOWED", "方法不允许")
	errBadRequest        = known(400, "BAD_REQUEST", "无法解析请求")
	errBodyTooLarge      = known(413, "BODY_TOO_LARGE", "请求体过大")
	errURLTooLong        = known(414, "URL_TOO_LONG", "请求地址过长")
	errHeadTooLarge      = known(431, "HEADER_TOO_LARGE", "请求头过大")
	errBadIdempotencyKey = known(400, "INVALID_IDEMPOTENCY_KEY", "Idempotency-Key 须为1至255个字符")
	errKeyReused         = known(409, "IDEMPOTENCY_KEY_REUSED", "Idempotency-Key 已用于其他请求")
	errWrongSecret       = known(403, "INVALID_SECRET", "密钥错误")
	errTooManyRequests   = known(429, "TOO_MANY_REQUESTS", "请求过于频繁")
	errNoLimit           = known(404, "LIMIT_NOT_FOUND", "没有对应的限流规则")
	errCostLimit         = known(400, "COST_OUT_OF_LIMIT", "cost 超过限流规则的次数")
	errNotAllowed        = known(403, "NOT_ALLOWED", "无权执行此操作")
	errDocumentInvalid   = known(403, "DOCUMENT_INVALID", "证件无效")
	errTooManyDocuments  = known(413, "TOO_MANY_DOCUMENTS", "一次最多查询500个证件")
	errBadKey            = known(400, "INVALID_KEY", "键无效")
	errBadRange          = known(400, "INVALID_RANGE", "时间范围、步长或次数无效")
	errNoTraffic         = known(404, "KEY_NOT_FOUND", "没有该键的统计")
	errStateConflict     = known(409, "SALE_STATE_CONFLICT", "抢购状态冲突")
	errBadState          = known(400, "INVALID_SALE_STATE", "抢购状态无效")
	errBadTimes          = known(400, "INVALID_SALE_TIMES", "开始或结束时间无效")
	errBadFormat         = known(400, "INVALID_FORMAT", "format 须为 csv 或 jsonl")
	errInternal          = known(500, "INTERNAL_ERROR", "内部错误")
)

// outcomes maps the errors of redisx to replies.
var outcomes = []struct {
	err     error
	failure *failure
}{
	{redisx.ErrUnavailable, errUnavailable},
	{limits.ErrNoRule, errNoLimit},
	{limits.ErrNeverFits, errCostLimit},
	{limits.ErrBadValue, errBadRequest},
	{traffic.ErrBadKey, errBadKey},
	{traffic.ErrBadRange, errBadRange},
	{traffic.ErrNoKey, errNoTraffic},
	{redisx.ErrSaleGone, errUnavailable},
	{redisx.ErrOverLimit, errFoodLimit},
	{redisx.ErrHasOrder, errOrderLimit},
	{redisx.ErrNotOpen, errNotOpen},
	{redisx.ErrPaused, errPaused},
	{redisx.ErrClosed, errClosed},
	{redisx.ErrStateConflict, errStateConflict},
	{redisx.ErrWrongTimes, errBadTimes},
	{redisx.ErrKeyReused, errKeyReused},
	{redisx.ErrCartEmpty, errCartEmpty},
	{redisx.ErrOutOfStock, errFoodOutOfStock},
}

// failureOf finds an error in the table of outcomes; errInternal if it is not there.
func failureOf(err error) *failure {
	for _, o := range outcomes {
		if errors.Is(err, o.err) {
			return o.failure
		}
	}
	return errInternal
}
