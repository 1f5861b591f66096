// A program of the Managed Agents API in Go: the unmodified SDK, each served method, a turn, and
// each class of error. Prints what it saw as JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
)

func newClient(key string) anthropic.Client {
	return anthropic.NewClient(
		option.WithBaseURL(os.Getenv("BASE_URL")),
		option.WithAPIKey(key),
		option.WithMaxRetries(0),
	)
}

func must[T any](value T, err error) T {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return value
}

func errorOf[T any](_ T, err error) []any {
	var failure *anthropic.Error
	if !errors.As(err, &failure) {
		return []any{fmt.Sprint(err)}
	}
	return []any{failure.StatusCode, failure.Type(), failure.RequestID != ""}
}

func say(words string) anthropic.BetaManagedAgentsEventParamsUnion {
	return anthropic.BetaManagedAgentsEventParamsUnion{
		OfUserMessage: &anthropic.BetaManagedAgentsUserMessageEventParams{
			Content: []anthropic.BetaManagedAgentsUserMessageEventParamsContentUnion{{
				OfText: &anthropic.BetaManagedAgentsTextBlockParam{Text: words},
			}},
		},
	}
}

func send(words string) anthropic.BetaSessionEventSendParams {
	return anthropic.BetaSessionEventSendParams{Events: []anthropic.BetaManagedAgentsEventParamsUnion{say(words)}}
}

func newAgent(name string) anthropic.BetaAgentNewParams {
	return anthropic.BetaAgentNewParams{
		Name:  name,
		Model: anthropic.BetaManagedAgentsModelConfigParams{ID: "claude-sonnet-5-5"},
		Tools: []anthropic.BetaAgentNewParamsToolUnion{{
			OfAgentToolset20260401: &anthropic.BetaManagedAgentsAgentToolset20260401Params{},
		}},
	}
}

func main() {
	ctx := context.Background()
	client := newClient(os.Getenv("OWNER_TOKEN"))
	beta := client.Beta
	agent := must(beta.Agents.New(ctx, newAgent("Coder")))
	changed := must(beta.Agents.Update(ctx, agent.ID, anthropic.BetaAgentUpdateParams{
		Description: anthropic.String("Writes."),
		Version:     anthropic.Int(agent.Version),
	}))
	environment := must(beta.Environments.New(ctx, anthropic.BetaEnvironmentNewParams{
		Name: "closed",
		Config: anthropic.BetaEnvironmentNewParamsConfigUnion{
			OfCloud: &anthropic.BetaCloudConfigParams{
				Networking: anthropic.BetaCloudConfigParamsNetworkingUnion{OfLimited: &anthropic.BetaLimitedNetworkParams{}},
			},
		},
	}))
	renamed := must(beta.Environments.Update(ctx, environment.ID, anthropic.BetaEnvironmentUpdateParams{
		Name: anthropic.String("shut"),
	}))
	session := must(beta.Sessions.New(ctx, anthropic.BetaSessionNewParams{
		Agent:         anthropic.BetaSessionNewParamsAgentUnion{OfString: anthropic.String(agent.ID)},
		EnvironmentID: environment.ID,
		Title:         anthropic.String("One"),
	}))
	stream := beta.Sessions.Events.StreamEvents(ctx, session.ID, anthropic.BetaSessionEventStreamParams{})
	must(beta.Sessions.Events.Send(ctx, session.ID, send("Write a.txt.")))
	streamed, ids := []string{}, []string{}
	for stream.Next() {
		event := stream.Current()
		if event.ProcessedAt.IsZero() {
			continue
		}
		streamed = append(streamed, event.Type)
		ids = append(ids, event.ID)
		if event.Type == "session.status_idle" {
			break
		}
	}
	must(true, stream.Err())
	stream.Close()
	same, input, result := true, any(nil), ""
	listed := beta.Sessions.Events.ListAutoPaging(ctx, session.ID, anthropic.BetaSessionEventListParams{Limit: anthropic.Int(2)})
	for at := 0; listed.Next(); at++ {
		event := listed.Current()
		same = same && at < len(ids) && event.ID == ids[at]
		if event.Type == "agent.tool_use" {
			input = event.AsAgentToolUse().Input
		}
		if event.Type == "agent.tool_result" {
			result = event.AsAgentToolResult().Content[0].Text
		}
	}
	must(true, listed.Err())
	titled := must(beta.Sessions.Update(ctx, session.ID, anthropic.BetaSessionUpdateParams{Title: anthropic.String("Two")}))
	wrong, looker := newClient("wrong"), newClient(os.Getenv("LOOK_TOKEN"))
	failures := map[string][]any{
		"bad":       errorOf(beta.Agents.New(ctx, newAgent(""))),
		"unknown":   errorOf(wrong.Beta.Agents.List(ctx, anthropic.BetaAgentListParams{})),
		"role":      errorOf(looker.Beta.Agents.New(ctx, newAgent("A"))),
		"missing":   errorOf(beta.Agents.Get(ctx, "agent_00000000000000000000000000", anthropic.BetaAgentGetParams{})),
		"notServed": errorOf(beta.Messages.Batches.List(ctx, anthropic.BetaMessageBatchListParams{})),
		"conflict": errorOf(beta.Agents.Update(ctx, agent.ID, anthropic.BetaAgentUpdateParams{
			Name:    anthropic.String("Old"),
			Version: anthropic.Int(1),
		})),
		"large": errorOf(beta.Sessions.Events.Send(ctx, session.ID, send(strings.Repeat("x", 9_000_000)))),
	}
	sessions := must(beta.Sessions.List(ctx, anthropic.BetaSessionListParams{Limit: anthropic.Int(1)}))
	archived := must(beta.Sessions.Archive(ctx, session.ID, anthropic.BetaSessionArchiveParams{}))
	closed := errorOf(beta.Sessions.Events.Send(ctx, session.ID, send("More.")))
	deleted := must(beta.Sessions.Delete(ctx, session.ID, anthropic.BetaSessionDeleteParams{}))
	gone := errorOf(beta.Sessions.Get(ctx, session.ID, anthropic.BetaSessionGetParams{}))
	must(beta.Environments.Archive(ctx, environment.ID, anthropic.BetaEnvironmentArchiveParams{}))
	removed := must(beta.Environments.Delete(ctx, environment.ID, anthropic.BetaEnvironmentDeleteParams{}))
	versions := must(beta.Agents.Versions.List(ctx, agent.ID, anthropic.BetaAgentVersionListParams{}))
	environments := must(beta.Environments.List(ctx, anthropic.BetaEnvironmentListParams{}))
	builtIn := must(beta.Environments.Get(ctx, "env_default", anthropic.BetaEnvironmentGetParams{}))
	agents := must(beta.Agents.List(ctx, anthropic.BetaAgentListParams{}))
	ended := must(beta.Agents.Archive(ctx, agent.ID, anthropic.BetaAgentArchiveParams{}))
	fmt.Println(string(must(json.Marshal(map[string]any{
		"versions":      len(versions.Data),
		"version":       changed.Version,
		"agents":        len(agents.Data),
		"networking":    []string{environment.Config.Networking.Type, renamed.Config.Networking.Type},
		"environments":  len(environments.Data),
		"environment":   builtIn.ID,
		"streamed":      streamed,
		"same":          same,
		"input":         input,
		"result":        result,
		"status":        []any{titled.Status, archived.Status},
		"title":         titled.Title,
		"sessions":      len(sessions.Data),
		"closed":        closed,
		"errors":        failures,
		"deleted":       []any{deleted.Type, removed.Type},
		"gone":          gone,
		"archivedAgent": !ended.ArchivedAt.IsZero(),
	}))))
}
