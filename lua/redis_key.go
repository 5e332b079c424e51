package lua

import (
	"slices"
	"strconv"
	"strings"
)

// keys names what is kept of one item. The braces are a hash tag: all keys of an
// item live on the same node, where one script can reach them.
type keys struct{ tagged string }

func keysOf(item string) keys { return keys{"rg:{" + item + "}:"} }

func (k keys) meta() string              { return k.tagged + "meta" }
func (k keys) stock(epoch int64) string  { return k.tagged + strconv.FormatInt(epoch, 10) + ":stock" }
func (k keys) buyers(epoch int64) string { return k.tagged + strconv.FormatInt(epoch, 10) + ":buyers" }

// aside is where one seeder gathers an epoch's buyers. Its own name keeps it out of
// the way of another seeder, and its delayed writes out of the live epoch.
func (k keys) aside(epoch int64, seeder string) string { return k.buyers(epoch) + ":" + seeder }

// marker is the field that makes the hash of an epoch without buyers exist. It is
// written last, so a hash that has it has all.
const marker = ""

// encodeNote writes a note the way the scripts read it: see note.lua.
func encodeNote(n Note) string {
	var b strings.Builder
	b.WriteString(strconv.FormatInt(n.Qty, 10))
	for i, id := range n.BizIDs {
		if !slices.Contains(n.BizIDs[:i], id) { // a seed may name an attempt twice
			b.WriteString(";0,")
			b.WriteString(strconv.Itoa(len(id)))
			b.WriteByte(':')
			b.WriteString(id)
		}
	}
	return b.String()
}

// unitsOf is the number of units that an encoded note holds.
func unitsOf(note string) (int64, error) {
	begin := strings.IndexByte(note, ';')
	if begin < 0 {
		begin = len(note)
	}
	units, err := strconv.ParseInt(note[:begin], 10, 64)
	if err != nil {
		return 0, errShape
	}
	for rest := note[begin:]; rest != ""; {
		var qty int64
		if qty, rest, err = cutAttempt(rest); err != nil {
			return 0, err
		}
		units += qty
	}
	return units, nil
}

// cutAttempt cuts the first ";quantity,length:biz_id" off.
func cutAttempt(attempts string) (qty int64, rest string, err error) {
	head, body, _ := strings.Cut(attempts, ":")
	quantity, length, _ := strings.Cut(head, ",")
	quantity, ok := strings.CutPrefix(quantity, ";")
	qty, errQty := strconv.ParseInt(quantity, 10, 64)
	size, errSize := strconv.Atoi(length)
	if !ok || errQty != nil || errSize != nil || size < 0 || size > len(body) {
		return 0, "", errShape
	}
	return qty, body[size:], nil
}
