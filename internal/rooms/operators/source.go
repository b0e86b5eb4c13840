package operators

import (
	"context"
	"encoding/base32"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"flashsale/internal/credentials"
)

// The list of operators has these columns, in a file of CSV or in a table of this name.
const table = "operators"

var columns = []string{"number", "name", "role", "password", "totp", "recovery"}

// Reserved are the names in the log of a sale that no operator may have.
var Reserved = []string{"root", "terminal", "clock", "service"}

const (
	recoveryMax = 10 // recovery codes of an operator
	secretMin   = 10 // bytes of a second factor; RFC 4226 wants 16, and authenticators of before have 10
)

// database is the form of a data source name, as -ledger has it. Everything else is the name of a file.
var database = regexp.MustCompile(`@(tcp|unix)\(.*\)/`)

// IsDatabase reports whether a source is a database, else it is a file.
func IsDatabase(source string) bool { return database.MatchString(source) }

// Read reads the operators of a source, and refuses all at the first row that is wrong.
func Read(ctx context.Context, source string) ([]Operator, error) {
	if IsDatabase(source) {
		return readDatabase(ctx, source)
	}
	return readFile(source)
}

// Describe names a source for people, without its password.
func Describe(source string) string {
	if IsDatabase(source) {
		return describeDatabase(source)
	}
	return source
}

// parse makes an operator of the fields of a row, in the order of columns.
func parse(fields []string) (o Operator, err error) {
	number, err := strconv.ParseUint(fields[0], 10, 32)
	if err != nil || number < 1 || number > NumberMax {
		return o, fmt.Errorf("number %q is not a whole number from 1 to %d", fields[0], NumberMax)
	}
	o = Operator{Number: uint32(number), Name: fields[1], Role: Role(fields[2]), Password: fields[3],
		TOTP: fields[4], Recovery: strings.Fields(fields[5])}
	shown, err := checkName(o.Name)
	switch {
	case err != nil:
		return o, fmt.Errorf("name %q: %w", o.Name, err)
	case shown != o.Name:
		return o, fmt.Errorf("name %q must be written %q", o.Name, shown)
	case o.Role.rank() < 0:
		return o, fmt.Errorf("role %q is not viewer, operator or admin", o.Role)
	case !credentials.IsHash(o.Password):
		return o, errors.New("password is not a hash as flashsale operator makes it")
	case !isSecret(o.TOTP):
		return o, fmt.Errorf("totp is not empty and not at least %d bytes in base32", secretMin)
	case len(o.Recovery) > recoveryMax:
		return o, fmt.Errorf("recovery has %d codes; at most %d are read", len(o.Recovery), recoveryMax)
	case slices.ContainsFunc(o.Recovery, func(hash string) bool { return !isCodeHash(hash) }):
		return o, errors.New("recovery is not a list of hashes as flashsale operator makes them")
	}
	return o, nil
}

// fields is the row of an operator.
func (o *Operator) fields() []string {
	return []string{strconv.FormatUint(uint64(o.Number), 10), o.Name, string(o.Role), o.Password, o.TOTP,
		strings.Join(o.Recovery, " ")}
}

// ErrReserved is the outcome of a name that the log of a sale has for others.
var ErrReserved = errors.New("the log of the sale has this name for others")

// checkName returns the name as it is written; errors: ErrReserved, and those of credentials.Name.
func checkName(name string) (shown string, err error) {
	shown, folded, err := credentials.Name(name)
	if err == nil && slices.Contains(Reserved, folded) {
		err = ErrReserved
	}
	return shown, err
}

func isSecret(text string) bool {
	secret, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(text)
	return text == "" || err == nil && len(secret) >= secretMin
}

func isCodeHash(text string) bool {
	hash, err := base64.RawStdEncoding.DecodeString(text)
	return err == nil && len(hash) == 32
}

// add adds an operator who was read at a place, unless the list has the number or the name.
func add(list []Operator, o Operator) ([]Operator, error) {
	for i := range list {
		if list[i].Number == o.Number {
			return nil, fmt.Errorf("number %d is there twice", o.Number)
		}
		if credentials.Fold(list[i].Name) == credentials.Fold(o.Name) {
			return nil, fmt.Errorf("name %q is there twice", o.Name)
		}
	}
	return append(list, o), nil
}
