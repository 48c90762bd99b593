// A Go client made from proto/. Usage: client HOST:PORT, of a gateway that serves the
// table of test/contract, or client HOST:PORT TOKEN, with an administrator's token.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	lintel "lintel.test/client/gen/lintel/v1"
)

const text = "Hello, wörld 🌍"

func main() {
	if err := run(os.Args[1], os.Args[2:]...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("ok")
}

func as(ctx context.Context, token string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
}

func run(address string, administrator ...string) error {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if len(administrator) > 0 {
		return administer(ctx, conn, administrator[0])
	}
	if err := chat(ctx, lintel.NewChatServiceClient(conn)); err != nil {
		return err
	}
	return images(ctx, lintel.NewTextToImageServiceClient(conn))
}

func chat(ctx context.Context, client lintel.ChatServiceClient) error {
	hello := []*lintel.LLMMessage{{Role: "user", Content: "Hello"}}
	whole, err := client.Complete(as(ctx, "all"), &lintel.LLMRequest{Messages: hello})
	if err != nil {
		return err
	}
	if got := whole.Choices[0].Message.Content; got != text {
		return fmt.Errorf("complete: %q", got)
	}

	stream, err := client.Chat(as(ctx, "all"), &lintel.LLMRequest{Messages: hello})
	if err != nil {
		return err
	}
	var streamed, reason string
	for {
		piece, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		streamed += piece.Choices[0].Delta.Content
		reason = piece.Choices[0].FinishReason
	}
	if streamed != text || reason != "stop" {
		return fmt.Errorf("chat: %q %q", streamed, reason)
	}

	_, err = client.Complete(as(ctx, "all"), &lintel.LLMRequest{Messages: hello, Temperature: proto.Float64(9)})
	if status.Code(err) != codes.InvalidArgument {
		return fmt.Errorf("validation: %v", err)
	}
	fields := 0
	for _, detail := range status.Convert(err).Details() {
		if bad, ok := detail.(*errdetails.BadRequest); ok && bad.FieldViolations[0].Field == "temperature" {
			fields++
		}
	}
	if fields != 1 {
		return fmt.Errorf("validation names no field: %v", err)
	}
	if _, err = client.Complete(as(ctx, "stranger"), &lintel.LLMRequest{Messages: hello}); status.Code(err) != codes.Unauthenticated {
		return fmt.Errorf("wrong token: %v", err)
	}
	return tools(ctx, client)
}

// tools calls what a model asks for, and hands on what comes of it.
func tools(ctx context.Context, client lintel.ChatServiceClient) error {
	request := &lintel.LLMRequest{
		Model:    "calls",
		Messages: []*lintel.LLMMessage{{Role: "user", Content: "Hello"}},
		Tools:    []*lintel.Tool{{Function: &lintel.FunctionTool{Name: "weather"}}},
	}
	stream, err := client.Chat(as(ctx, "all"), request)
	if err != nil {
		return err
	}
	var streamed string
	for {
		piece, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		for _, call := range piece.Choices[0].Delta.ToolCalls {
			streamed += call.Function.Arguments
		}
	}
	whole, err := client.Complete(as(ctx, "all"), request)
	if err != nil {
		return err
	}
	var called string
	message := whole.Choices[0].Message
	request.Messages = append(request.Messages, message)
	for _, call := range message.ToolCalls {
		called += call.Function.Arguments
		said := &lintel.LLMMessage{Role: "tool", ToolCallId: call.Id, Content: "sunny " + call.Id + " "}
		request.Messages = append(request.Messages, said)
	}
	if called != `{"city":"Rome"}{"city":"Oslo"}` || streamed != called {
		return fmt.Errorf("tools: %q %q", called, streamed)
	}
	answer, err := client.Complete(as(ctx, "all"), request)
	if err != nil {
		return err
	}
	if got := answer.Choices[0].Message.Content; got != "sunny a sunny b " {
		return fmt.Errorf("results of tools: %q", got)
	}
	return nil
}

func images(ctx context.Context, client lintel.TextToImageServiceClient) error {
	request := &lintel.TextToImageRequest{Prompt: proto.String("a red circle"), Seed: proto.Int64(7), IncludeData: true}
	answer, err := client.TextToImage(as(ctx, "all"), request)
	if err != nil {
		return err
	}
	if image := answer.Images[0]; image.Seed != 7 || string(image.Data[1:4]) != "PNG" {
		return fmt.Errorf("image: seed %d, %d bytes", image.Seed, len(image.Data))
	}
	return nil
}
