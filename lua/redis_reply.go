package lua

// readAdmit reads the answer of admit.lua to that many requests.
func readAdmit(answer any, requests int) (Reply, error) {
	parts, ok := answer.([]any)
	if !ok || len(parts) < 4 {
		return Reply{}, errShape
	}
	digits, ok := parts[0].(string)
	numbers, allNumbers := integers(parts[1:4])
	if !ok || !allNumbers || len(digits) != requests {
		return Reply{}, errShape
	}
	reply := Reply{Verdicts: make([]Verdict, requests), Left: numbers[0], Now: numbers[1], Version: numbers[2]}
	for i := range requests {
		v := Verdict(digits[i] - '0')
		if v < Stale || v > Admitted {
			return Reply{}, errShape
		}
		reply.Verdicts[i] = v
	}
	if len(parts) == 4 {
		return reply, nil
	}
	if reply.Buyers, ok = userSet(parts[4]); !ok {
		return Reply{}, errShape
	}
	return reply, nil
}

// readView reads the answer of view.lua.
func readView(answer any, withBuyers bool) (View, error) {
	parts, ok := answer.([]any)
	if !ok || len(parts) < 2 {
		return View{}, errShape
	}
	numbers, ok := integers(parts[:min(len(parts), 5)])
	switch {
	case !ok:
		return View{}, errShape
	case len(parts) == 2 && numbers[1] == 1:
		return View{Epoch: numbers[0], Stale: true}, nil
	case len(numbers) < 5 || numbers[1] != 0 || withBuyers != (len(parts) == 6):
		return View{}, errShape
	}
	v := View{Epoch: numbers[0], Stock: numbers[2], AdmittedAt: numbers[3], Version: numbers[4]}
	if withBuyers {
		var err error
		if v.Buyers, err = unitsByUser(parts[5]); err != nil {
			return View{}, err
		}
	}
	return v, nil
}

func integers(parts []any) ([]int64, bool) {
	numbers := make([]int64, len(parts))
	for i, p := range parts {
		n, ok := p.(int64)
		if !ok {
			return nil, false
		}
		numbers[i] = n
	}
	return numbers, true
}

// userSet makes a set of the fields of the buyers, without the marker.
func userSet(answer any) (map[string]struct{}, bool) {
	fields, ok := answer.([]any)
	if !ok {
		return nil, false
	}
	users := make(map[string]struct{}, len(fields))
	for _, f := range fields {
		user, ok := f.(string)
		if !ok {
			return nil, false
		}
		if user != marker {
			users[user] = struct{}{}
		}
	}
	return users, true
}

// unitsByUser reads fields and notes that stand in turn, without the marker.
func unitsByUser(answer any) (map[string]int64, error) {
	pairs, ok := answer.([]any)
	if !ok || len(pairs)%2 != 0 {
		return nil, errShape
	}
	units := make(map[string]int64, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		user, isUser := pairs[i].(string)
		note, isNote := pairs[i+1].(string)
		if !isUser || !isNote {
			return nil, errShape
		}
		if user == marker {
			continue
		}
		held, err := unitsOf(note)
		if err != nil {
			return nil, err
		}
		units[user] = held
	}
	return units, nil
}
