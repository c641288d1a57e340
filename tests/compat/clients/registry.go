// What franz-go's registry client does with a registry: create, look up, check, set a level, read by id.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/sr"
)

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func main() {
	client, err := sr.NewClient(sr.URLs(os.Args[1]))
	check(err)
	ctx := context.Background()
	schema := sr.Schema{Schema: `{"type":"record","name":"G","fields":[{"name":"a","type":"int"}]}`}
	made, err := client.CreateSchema(ctx, "go-value", schema)
	check(err)
	found, err := client.LookupSchema(ctx, "go-value", schema)
	check(err)
	byID, err := client.SchemaByID(ctx, made.ID)
	check(err)
	narrower := sr.Schema{Schema: `{"type":"record","name":"G","fields":[{"name":"b","type":"int"}]}`}
	checked, err := client.CheckCompatibility(ctx, "go-value", 1, narrower)
	check(err)
	for _, set := range client.SetCompatibility(ctx, sr.SetCompatibility{Level: sr.CompatFull}, "go-value") {
		check(set.Err)
	}
	subjects, err := client.Subjects(ctx)
	check(err)
	fmt.Println(made.Version, found.ID == made.ID, byID.Schema == found.Schema.Schema, checked.Is, subjects)
}
