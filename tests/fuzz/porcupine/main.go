// Porcupine's verdicts on histories of registers, maps and transactions, for tests/fuzz/histories.
//
// Reads a history a line from stdin, as {"map": .., "joined": .., "initial": .., "calls": [..]}, and
// prints Ok, Illegal or Unknown for each. A call is [process, invoked, completed, known, steps], a
// step [kind, key, value, expected]: kinds are those of checkers.history.calls.Step, values texts or
// null. What is not known to have happened (`known` false) completes at the end.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

const patience = 20 * time.Second

type step struct {
	Kind     int
	Key      int
	Value    *string
	Expected *string
	Untold   bool
}

type call struct {
	Process   int
	Invoked   int64
	Completed int64
	Known     bool
	Steps     []step
}

type history struct {
	Map     bool
	Joined  bool
	Initial *string
	Keys    int
	Calls   []call
}

// What an object holds, as text; nothing differs from every text.
func text(value *string) string {
	if value == nil {
		return "-"
	}
	return "+" + *value
}

const (
	read = iota
	write
	swap
	refused
	appends
)

// One step on one object; what it held and whether that was possible.
func apply(now string, s step, known bool) (bool, string) {
	switch s.Kind {
	case read:
		return !known || s.Untold || now == text(s.Value), now
	case write:
		return true, text(s.Value)
	case swap:
		if now == text(s.Expected) {
			return true, text(s.Value)
		}
		// What never returned need not have happened: here it did nothing.
		return !known, now
	case refused:
		return now != text(s.Expected), now
	}
	return true, now + *s.Value
}

type output struct{ known bool }

// A single object of its own, or with `joined` all of them, between zero bytes.
func model(h history) porcupine.Model {
	first := text(h.Initial)
	if h.Map && h.Initial == nil {
		first = "+"
	}
	if !h.Joined {
		return porcupine.Model{
			Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
				of := make([][]porcupine.Operation, h.Keys)
				for _, one := range all {
					key := one.Input.([]step)[0].Key
					of[key] = append(of[key], one)
				}
				return of
			},
			Init: func() interface{} { return first },
			Step: func(state, in, out interface{}) (bool, interface{}) {
				return apply(state.(string), in.([]step)[0], out.(output).known)
			},
		}
	}
	return porcupine.Model{
		Init: func() interface{} {
			return strings.Repeat(first+"\x00", h.Keys-1) + first
		},
		Step: func(state, in, out interface{}) (bool, interface{}) {
			held := strings.Split(state.(string), "\x00")
			for _, s := range in.([]step) {
				possible, after := apply(held[s.Key], s, out.(output).known)
				if !possible {
					return false, state
				}
				held[s.Key] = after
			}
			return true, strings.Join(held, "\x00")
		},
	}
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<30)
	for lines.Scan() {
		var h history
		if err := json.Unmarshal(lines.Bytes(), &h); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		operations := make([]porcupine.Operation, len(h.Calls))
		for i, one := range h.Calls {
			operations[i] = porcupine.Operation{
				ClientId: one.Process,
				Input:    one.Steps,
				Call:     one.Invoked,
				Output:   output{one.Known},
				Return:   one.Completed,
			}
		}
		fmt.Println(porcupine.CheckOperationsTimeout(model(h), operations, patience))
	}
}
