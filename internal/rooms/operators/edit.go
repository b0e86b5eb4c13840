package operators

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/pquerna/otp/totp"

	"flashsale/internal/credentials"
)

// What a command does with the list of operators.

// Characters that the password of an operator has at least.
const (
	PasswordMin  = 12
	differentMin = 5
)

// Outcomes of a change.
var (
	ErrThere   = errors.New("there is an operator of this name")
	ErrNobody  = errors.New("there is no operator of this name")
	ErrTooMany = fmt.Errorf("there are %d operators, as many as there may be", NumberMax)
	ErrWeak    = fmt.Errorf("the password must have %d characters to 256 bytes, %d of them different, and not "+
		"be the name", PasswordMin, differentMin)
)

// Add adds an operator without a second factor. Errors: ErrThere, ErrTooMany, ErrWeak, ErrReserved, and
// those of credentials.Name.
func Add(list []Operator, name string, role Role, password []byte) ([]Operator, error) {
	shown, err := checkName(name)
	if err != nil {
		return nil, err
	}
	if ByName(list, name) != nil {
		return nil, ErrThere
	}
	o := Operator{Number: 1, Name: shown, Role: role}
	for slices.ContainsFunc(list, func(other Operator) bool { return other.Number == o.Number }) {
		o.Number++ // the number of somebody who has gone will do, see Holder and key
	}
	if o.Number > NumberMax {
		return nil, ErrTooMany
	}
	if err := o.SetPassword(password); err != nil {
		return nil, err
	}
	return append(list, o), nil
}

// ByName returns the operator of this name in a list, whatever its case, nil where there is none.
func ByName(list []Operator, name string) *Operator {
	folded := credentials.Fold(name)
	i := slices.IndexFunc(list, func(o Operator) bool { return credentials.Fold(o.Name) == folded })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// SetPassword changes the password; ErrWeak.
func (o *Operator) SetPassword(password []byte) error {
	normal, err := credentials.Password(password, PasswordMin)
	different := map[rune]bool{}
	for _, c := range string(normal) {
		different[c] = true
	}
	if err != nil || len(different) < differentMin ||
		credentials.Fold(string(normal)) == credentials.Fold(o.Name) {
		return ErrWeak
	}
	o.Password, err = credentials.NewQueue(credentials.Hash).Make(normal)
	return err
}

// SetTOTP gives the operator another second factor. Whoever reads the URL or a code can log in with it, so
// they are shown once: the list has only hashes of the codes.
func (o *Operator) SetTOTP() (url string, codes []string, err error) {
	key, err := totp.Generate(totp.GenerateOpts{Issuer: "flashsale", AccountName: o.Name})
	if err != nil {
		return "", nil, fmt.Errorf("cannot make a second factor: %w", err)
	}
	o.TOTP, o.Recovery = key.Secret(), nil
	for range recoveryMax {
		code := rand.Text()[:16] // five bits each
		codes = append(codes, code[:4]+"-"+code[4:8]+"-"+code[8:12]+"-"+code[12:])
		o.Recovery = append(o.Recovery, hashCode(code))
	}
	return key.URL(), codes, nil
}
