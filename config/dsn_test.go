package config

import (
	"strings"
	"testing"
)

func TestDataSourceNames(t *testing.T) {
	for _, test := range []struct {
		driver, dsn string
		want        string // a part of the message; "" for a right one
	}{
		{"sqlite", "", ""},
		{"sqlite", "/var/lib/rushgate/shop.db", ""},
		{"sqlite", `C:\shop\rushgate.db`, ""},
		{"sqlite", "shop@home=1.db", ""},
		{"sqlite", "file:shop.db", "is a URL"},
		{"sqlite", "sqlite:///shop.db", "is a URL"},
		{"sqlite", ":memory:", "is no file"},
		{"sqlite", "shop:s3cret@tcp(db)/rush", "another kind"},

		{"mysql", "shop:s3cret@tcp(db:3306)/rush?timeout=2s", ""},
		{"mysql", "shop@db-1:s3/c@r:et@tcp([::1]:3306)/rush", ""},
		{"mysql", "shop:s3cret@unix(/run/mysqld.sock)/rush", ""},
		{"mysql", "shop@/rush", ""},
		{"mysql", "/rush", ""},
		{"mysql", "shop@tcp/rush", ""},
		{"mysql", "shop:s3cret@tcp(db:3306)", "names no database"},
		{"mysql", "shop:s3cret@tcp(db:3306)/?timeout=2s", "names no database"},
		{"mysql", "shop:s3cret@db/rush", "without tcp( )"},
		{"mysql", "shop:s3cret@pipe(db)/rush", "without tcp( )"},
		{"mysql", "shop:s3cret@tcp(db", "names no database"},
		{"mysql", "mariadb://shop@db/rush", "is a URL"},
		{"mysql", "host=db dbname=rush", "another kind"},
		{"mysql", "oracle://db/rush", "another kind"},

		{"postgres", "postgres://shop:s3%40cret@db:5432/rush?sslmode=disable", ""},
		{"postgres", "postgresql://db/rush", ""},
		{"postgres", "postgres://db-1:5432,db-2:5432/rush", ""},
		{"postgres", "postgres:///rush?host=/run/postgresql", ""},
		{"postgres", "postgres://db/?dbname=rush", ""},
		{"postgres", "host=db dbname=rush", ""},
		{"postgres", "connect_timeout=2 dbname = 'the rush' password='a\\'b'", ""},
		{"postgres", "postgres://shop:s3cret@db", "names no database"},
		{"postgres", "postgres://shop:s%3@db/rush", "can be read"},
		{"postgres", "postgres://shop:s3#cret@db/rush", "can be read"},
		{"postgres", "host=db user=shop", "names no database"},
		{"postgres", "host=db dbname='' user=shop", "names no database"},
		{"postgres", "rush", "neither a URL nor"},
		{"postgres", "file:shop.db", "another kind"},
	} {
		err := dsnError(test.driver, test.dsn)
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s %q: %v", test.driver, test.dsn, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || hintOf(t, err) == ""):
			t.Errorf("%s %q: %v, want %s and a hint", test.driver, test.dsn, err, test.want)
		}
		if err != nil && (strings.Contains(err.Error(), "s3") || strings.Contains(err.Error(), "cret")) {
			t.Errorf("%s %q: the password is in the message: %v", test.driver, test.dsn, err)
		}
	}
}
