package store_test

import (
	"testing"

	"rushgate/backend/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }
