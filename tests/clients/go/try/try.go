// Package try is what the programs in Go have in common: PROGRAM SERVERS NAME FEATURE.
//
// They end as those in Python do (tests/clients/python/program.py).
package try

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"time"
)

const (
	Patience    = 60 * time.Second
	notInClient = 3
	Largest     = 16 << 20
)

type Try struct {
	Servers []string
	Name    string
}

func (t Try) Group() string { return t.Name + "-group" }

type Feature func(Try) error

func Values() []string {
	var values []string
	for number := 0; number < 9; number++ {
		values = append(values, fmt.Sprintf("value-%d", number))
	}
	return values
}

// Expect compares what was read with what was sent, in any order.
func Expect(found, wanted []string) error {
	sort.Strings(found)
	sorted := append([]string{}, wanted...)
	sort.Strings(sorted)
	if strings.Join(found, " ") != strings.Join(sorted, " ") {
		return fmt.Errorf("read back %d of %d values, or others", len(found), len(wanted))
	}
	return nil
}

// Until asks again until it holds.
func Until(what string, holds func() (bool, error)) error {
	deadline := time.Now().Add(Patience)
	for {
		is, err := holds()
		if err == nil && is {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %v in vain: %s (%v)", Patience, what, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func Run(features map[string]Feature) {
	feature, is := features[os.Args[3]]
	if !is {
		os.Exit(notInClient)
	}
	done := make(chan error, 1)
	go func() { done <- feature(Try{strings.Split(os.Args[1], ","), os.Args[2]}) }()
	var err error
	select {
	case err = <-done:
	case <-time.After(2 * Patience):
		err = fmt.Errorf("nothing came of it in %v", 2*Patience)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, strings.ReplaceAll(err.Error(), "\n", " "))
		os.Exit(1)
	}
}
