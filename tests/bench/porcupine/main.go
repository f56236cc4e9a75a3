// Porcupine's time on its own 102 etcd histories, for the comparison in tests/bench.
//
// Usage: porcupine DIRECTORY ROUNDS, with DIRECTORY holding etcd_NNN.log. Files are read first;
// then each round checks all of them, one after the other. Prints one JSON object: seconds of
// each round, and the verdicts by file.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/anishathalye/porcupine"
)

const absent = -1000000 // the state of a register that nobody wrote

type input struct{ op, first, second int } // op 0 read, 1 write, 2 compare-and-set

type output struct {
	ok, exists, unknown bool
	value               int
}

func step(state, in, out interface{}) (bool, interface{}) {
	now, asked, told := state.(int), in.(input), out.(output)
	switch asked.op {
	case 0:
		return told.unknown || (told.exists && told.value == now) || (!told.exists && now == absent), now
	case 1:
		return true, asked.first
	}
	if asked.first == now {
		return told.ok || told.unknown, asked.second
	}
	return !told.ok || told.unknown, now
}

var model = porcupine.Model{
	Init: func() interface{} { return absent },
	Step: step,
}

var line = regexp.MustCompile(`^INFO\s+jepsen\.util\s+-\s+(\d+)\s+:(\w+)\s+:(\w+)\s+(.*)$`)
var number = regexp.MustCompile(`\d+`)

func numbers(text string) []int {
	var found []int
	for _, digits := range number.FindAllString(text, -1) {
		value, _ := strconv.Atoi(digits)
		found = append(found, value)
	}
	return found
}

func asked(f string, given []int) input {
	switch f {
	case "read":
		return input{op: 0}
	case "write":
		return input{op: 1, first: given[0]}
	}
	return input{op: 2, first: given[0], second: given[1]}
}

func told(kind string, f string, given []int) output {
	if f == "read" && len(given) > 0 {
		return output{ok: true, exists: true, value: given[0]}
	}
	return output{ok: kind == "ok"}
}

func read(path string) ([]porcupine.Event, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var events []porcupine.Event
	open := map[int]int{} // process -> id of its operation
	next := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		parts := line.FindStringSubmatch(lines.Text())
		if parts == nil {
			continue
		}
		process, _ := strconv.Atoi(parts[1])
		kind, f, given := parts[2], parts[3], numbers(parts[4])
		switch {
		case kind == "invoke":
			open[process] = next
			events = append(events, porcupine.Event{Kind: porcupine.CallEvent, Value: asked(f, given), Id: next})
			next++
		case kind == "ok" || (kind == "fail" && f == "cas"):
			events = append(events, porcupine.Event{Kind: porcupine.ReturnEvent, Value: told(kind, f, given), Id: open[process]})
			delete(open, process)
		case kind == "fail" && f == "read":
			events = append(events, porcupine.Event{Kind: porcupine.ReturnEvent, Value: output{unknown: true}, Id: open[process]})
			delete(open, process)
		}
	}
	// What never returned may have happened at any time.
	for id := 0; id < next; id++ {
		for _, left := range open {
			if left == id {
				events = append(events, porcupine.Event{Kind: porcupine.ReturnEvent, Value: output{unknown: true}, Id: id})
			}
		}
	}
	return events, nil
}

func main() {
	rounds, _ := strconv.Atoi(os.Args[2])
	paths, _ := filepath.Glob(filepath.Join(os.Args[1], "etcd_*.log"))
	histories := make([][]porcupine.Event, len(paths))
	for i, path := range paths {
		var err error
		if histories[i], err = read(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	result := struct {
		Seconds []float64       `json:"seconds"`
		Valid   map[string]bool `json:"valid"`
	}{Valid: map[string]bool{}}
	for round := 0; round < rounds; round++ {
		began := time.Now()
		for i, path := range paths {
			result.Valid[filepath.Base(path)] = porcupine.CheckEvents(model, histories[i])
		}
		result.Seconds = append(result.Seconds, time.Since(began).Seconds())
	}
	json.NewEncoder(os.Stdout).Encode(result)
}
