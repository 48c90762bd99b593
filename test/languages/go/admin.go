package main

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	admin "lintel.test/client/gen/lintel/admin/v1"
	lintel "lintel.test/client/gen/lintel/v1"
)

// administer issues a token, lists, rotates and revokes it, by an administrator's
// token, and calls with it in between.
func administer(ctx context.Context, conn *grpc.ClientConn, token string) error {
	tokens := admin.NewTokensServiceClient(conn)
	ops := as(ctx, token)
	asks := func(secret string) codes.Code {
		request := &lintel.LLMRequest{Model: "chat", Messages: []*lintel.LLMMessage{{Role: "user", Content: "Hello"}}}
		_, err := lintel.NewChatServiceClient(conn).Complete(as(ctx, secret), request)
		return status.Code(err)
	}

	limits := &admin.Limits{
		RequestsPerMinute: &admin.Limit{Kind: &admin.Limit_Amount{Amount: 60}},
		Concurrent:        &admin.Limit{Kind: &admin.Limit_Unlimited{Unlimited: true}},
	}
	wanted := &admin.CreateTokenRequest{
		Name:   "alice",
		Team:   "red",
		Models: &admin.ModelNames{Names: []string{"chat"}},
		Limits: limits,
		Expiry: &admin.Expiry{Kind: &admin.Expiry_Ttl{Ttl: durationpb.New(time.Hour)}},
	}
	made, err := tokens.CreateToken(ops, wanted)
	if err != nil {
		return err
	}
	if made.Token.State != admin.State_STATE_ACTIVE || made.Token.ExpireTime == nil || !proto.Equal(made.Token.Limits, limits) {
		return fmt.Errorf("create: %v", made.Token)
	}
	if code := asks(made.Secret); code != codes.OK {
		return fmt.Errorf("a new token: %v", code)
	}
	if _, err = tokens.CreateToken(ops, wanted); status.Code(err) != codes.AlreadyExists {
		return fmt.Errorf("create again: %v", err)
	}

	listed, err := tokens.ListTokens(ops, &admin.ListTokensRequest{})
	if err != nil {
		return err
	}
	if len(listed.Tokens) != 1 || !proto.Equal(listed.Tokens[0], made.Token) {
		return fmt.Errorf("list: %v", listed.Tokens)
	}
	if _, err = tokens.ListTokens(as(ctx, made.Secret), &admin.ListTokensRequest{}); status.Code(err) != codes.Unauthenticated {
		return fmt.Errorf("a caller lists: %v", err)
	}

	rotated, err := tokens.RotateToken(ops, &admin.RotateTokenRequest{Token: "alice"})
	if err != nil {
		return err
	}
	if before, now := asks(made.Secret), asks(rotated.Secret); before != codes.Unauthenticated || now != codes.OK {
		return fmt.Errorf("rotated: %v %v", before, now)
	}

	revoked, err := tokens.RevokeToken(ops, &admin.RevokeTokenRequest{Token: "alice"})
	if err != nil {
		return err
	}
	if code := asks(rotated.Secret); code != codes.Unauthenticated || revoked.Token.State != admin.State_STATE_REVOKED {
		return fmt.Errorf("revoked: %v %v", code, revoked.Token)
	}
	if _, err = tokens.GetToken(ops, &admin.GetTokenRequest{Token: "alice"}); status.Code(err) != codes.NotFound {
		return fmt.Errorf("get by the name of one that was revoked: %v", err)
	}
	return nil
}
