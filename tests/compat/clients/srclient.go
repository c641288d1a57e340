// What srclient does with a registry: create, read by id and by version, check, set a level, soft delete.
package main

import (
	"fmt"
	"os"

	"github.com/riferrei/srclient"
)

func check(err error) {
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
}

func main() {
	client := srclient.NewSchemaRegistryClient(os.Args[1])
	client.CachingEnabled(false)
	text := `{"type":"record","name":"S","fields":[{"name":"a","type":"int"}]}`
	made, err := client.CreateSchema("srclient-value", text, srclient.Avro)
	check(err)
	byID, err := client.GetSchema(made.ID())
	check(err)
	latest, err := client.GetLatestSchema("srclient-value")
	check(err)
	found, err := client.LookupSchema("srclient-value", text, srclient.Avro)
	check(err)
	other := `{"type":"record","name":"S","fields":[{"name":"b","type":"int"}]}`
	fits, err := client.IsSchemaCompatible("srclient-value", other, "latest", srclient.Avro)
	check(err)
	level, err := client.ChangeSubjectCompatibilityLevel("srclient-value", srclient.Full)
	check(err)
	versions, err := client.GetSchemaVersions("srclient-value")
	check(err)
	check(client.DeleteSubject("srclient-value", false))
	subjects, err := client.GetSubjects()
	check(err)
	fmt.Println(byID.Schema() == latest.Schema(), found.ID() == made.ID(), fits, *level, versions, len(subjects))
}
