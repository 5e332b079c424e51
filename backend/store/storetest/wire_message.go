package storetest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
)

// messages reads what a client sends, one message a call, and says of each whether
// it is the COMMIT of a transaction. The messages are not encrypted.
type messages func() (message []byte, commit bool, err error)

// mariadbMessages reads packets: a length of three bytes, a number, and so many
// bytes, of which the first is the command (MariaDB's documentation of its
// client/server protocol: standard packet, COM_QUERY).
func mariadbMessages(r *bufio.Reader) messages {
	const query = 3
	return func() ([]byte, bool, error) {
		packet, err := readMessage(r, 4, func(head []byte) int {
			return int(head[0]) | int(head[1])<<8 | int(head[2])<<16
		})
		if err != nil {
			return nil, false, err
		}
		body := packet[4:]
		return packet, len(body) > 0 && body[0] == query && isCommit(body[1:]), nil
	}
}

// postgresMessages reads messages: a type of one byte, a length that counts itself
// and the body but not the type, and the body. The first ones, up to the one that
// starts the session, have no type (PostgreSQL's documentation of its
// frontend/backend protocol: message formats).
func postgresMessages(r *bufio.Reader) messages {
	const (
		query       = 'Q'
		version3    = 3 // major version in the upper half of what a start-up message has in place of a code
		lengthBytes = 4
	)
	started := false
	return func() ([]byte, bool, error) {
		if !started {
			message, err := readMessage(r, lengthBytes, func(head []byte) int {
				return int(binary.BigEndian.Uint32(head)) - lengthBytes
			})
			started = err == nil && len(message) >= 8 && binary.BigEndian.Uint16(message[4:]) == version3
			return message, false, err
		}
		message, err := readMessage(r, 1+lengthBytes, func(head []byte) int {
			return int(binary.BigEndian.Uint32(head[1:])) - lengthBytes
		})
		return message, err == nil && message[0] == query && isCommit(message[5:]), err
	}
}

// readMessage reads a head and the body whose length it tells.
func readMessage(r *bufio.Reader, headBytes int, length func(head []byte) int) ([]byte, error) {
	head, err := r.Peek(headBytes)
	if err != nil {
		return nil, err
	}
	message := make([]byte, headBytes+max(length(head), 0))
	_, err = io.ReadFull(r, message)
	return message, err
}

// isCommit tells a statement that is a COMMIT and nothing else.
func isCommit(statement []byte) bool {
	return bytes.EqualFold(bytes.Trim(statement, " ;\x00"), []byte("COMMIT"))
}
