// A worker of a self-hosted environment in Go: the unmodified SDK, its own tools.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/lib/environments"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
)

func main() {
	idle := time.Second
	client := anthropic.NewClient(option.WithBaseURL(os.Getenv("BASE_URL")))
	worker := environments.NewEnvironmentWorker(client, environments.EnvironmentWorkerOptions{
		EnvironmentID:  os.Getenv("ENVIRONMENT_ID"),
		EnvironmentKey: os.Getenv("ENVIRONMENT_KEY"),
		Workdir:        os.Getenv("WORKDIR"),
		MaxIdle:        &idle,
	})
	if err := worker.Run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
