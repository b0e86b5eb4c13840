// Command buy buys one piece of a food: buy localhost:8080 user2 pass2 7. It writes the order's id.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"flashsale/internal/testkit/client"
)

const tries = 20

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: buy host:port name password food")
		os.Exit(2)
	}
	id, err := buy(os.Args[1], os.Args[2], os.Args[3], os.Args[4])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(id)
}

func buy(server, name, password, number string) (order string, err error) {
	food, err := strconv.Atoi(number)
	if err != nil {
		return "", err
	}
	c := &client.Client{Address: server}
	defer c.HangUp()
	if err := again(func() error { return c.Login(name, password) }); err != nil {
		return "", err
	}
	var foods []client.Food
	if err := again(func() (err error) { foods, err = c.Foods(); return err }); err != nil {
		return "", err
	}
	if !slices.ContainsFunc(foods, func(f client.Food) bool { return f.ID == food }) {
		return "", fmt.Errorf("there is no food %d", food)
	}
	var cart string
	// Never repeat an add, it could count twice: each try takes a new cart.
	if err := again(func() (err error) { cart, err = c.Fill(client.Pieces(food, 1)); return err }); err != nil {
		return "", err
	}
	ctx, end := context.WithTimeout(context.Background(), time.Minute)
	defer end()
	return c.OrderOnce(ctx, cart, rand.Text())
}

// again repeats a call until its outcome is known.
func again(do func() error) (err error) {
	for range tries {
		err = do()
		var r client.Refusal
		if err == nil || errors.As(err, &r) && r.Status < 500 && r.Status != 429 {
			return err
		}
		time.Sleep(time.Second)
	}
	return err
}
