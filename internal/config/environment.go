package config

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"flashsale/internal/store/child"
)

// secretsVariable holds the number of the descriptor from which the secrets are read, see ClearEnvironment.
const secretsVariable = "FLASHSALE_SECRETS"

// secretsMost limits the secrets, in bytes, to far more than they take.
const secretsMost = 1 << 20

// ClearEnvironment keeps secrets out of /proc/<pid>/environ. The kernel shows there the environment that a
// program was started with, even after it unsets a variable. So if the environment has secrets,
// ClearEnvironment starts the program again in the same process, without the secrets, and does not return.
// The second time it reads the secrets from a file in memory and sets them for Parse. Call it first, on the
// main thread: another thread would lose the signal that the kernel sends when the parent ends. After an
// error the secrets are set, but can be seen.
func ClearEnvironment() error {
	if descriptor, again := os.LookupEnv(secretsVariable); again {
		return takeOver(descriptor)
	}
	secrets := map[string]string{}
	var rest []string
	names := secretNames()
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if value != "" && slices.Contains(names, name) {
			secrets[name] = value
		} else {
			rest = append(rest, variable)
		}
	}
	if len(secrets) == 0 {
		return nil
	}
	if err := startAgain(rest, secrets); err != nil {
		return fmt.Errorf("cannot hide the secrets of the environment: %w", err)
	}
	return nil
}

// startAgain replaces this program by itself; it returns only with an error.
func startAgain(environment []string, secrets map[string]string) error {
	text, err := json.Marshal(secrets)
	if err != nil {
		return err
	}
	descriptor, err := unix.MemfdCreate("secrets", 0) // inherited: not closed on exec
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(descriptor), "secrets")
	defer file.Close()
	if _, err := file.WriteAt(text, 0); err != nil {
		return err
	}
	environment = append(environment, secretsVariable+"="+strconv.Itoa(descriptor))
	return syscall.Exec(child.Program(), os.Args, environment)
}

// takeOver sets what startAgain has left in the descriptor.
func takeOver(descriptor string) error {
	os.Unsetenv(secretsVariable)
	number, err := strconv.Atoi(descriptor)
	if err != nil || number <= 2 {
		return fmt.Errorf("%s is %q, which only this program sets: unset it", secretsVariable, descriptor)
	}
	file := os.NewFile(uintptr(number), "secrets")
	defer file.Close()
	var secrets map[string]string
	if err := json.NewDecoder(io.LimitReader(file, secretsMost)).Decode(&secrets); err != nil {
		return fmt.Errorf("cannot take over the secrets of the environment: %w (only this program sets %s: "+
			"unset it)",
			err, secretsVariable)
	}
	for name, value := range secrets {
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("cannot take over %s: %w", name, err)
		}
	}
	return nil
}

// secretNames are the environment names of the settings that must not be shown.
func secretNames() (names []string) {
	for _, name := range newConfig().flags.secrets {
		names = append(names, envName(name))
	}
	return names
}

// HideSecrets removes the secrets from the environment that child processes get.
func (c *Config) HideSecrets() {
	for _, name := range secretNames() {
		os.Unsetenv(name)
	}
}
