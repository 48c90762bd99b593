/** Who may call. */
import { describe, expect, it } from "vitest";
import { LintelError } from "../../src/core/errors.js";
import { createToken, hashToken } from "../../src/core/tokens.js";
import { coreOf, run } from "../support/core.js";
import { chatModel } from "../support/models.js";
import { hello } from "../support/routing.js";
import { says, scripted } from "../support/scripted.js";
import { failure, models } from "./chatting.js";

describe("authentication", () => {
  const backend = () => scripted({ chat: says("x") }, models);
  it("public: some token must be there, any will do", async () => {
    await run(coreOf([backend()]), "complete", hello, { credential: "anything" });
    await expect(
      run(coreOf([backend()]), "complete", hello, { credential: undefined }),
    ).rejects.toEqual(failure("invalid_token"));
  });
  it("token: only issued ones, stored as hashes, for the models they name", async () => {
    const token = createToken();
    const other = createToken();
    const core = coreOf(
      [scripted({ chat: says("x") }, [chatModel("chat-1"), chatModel("big-1")])],
      {
        auth: {
          mode: "token",
          tokens: [
            { name: "a", hash: hashToken(token), models: ["chat-*"] },
            { name: "b", hash: hashToken(other) },
          ],
        },
      },
    );
    await run(core, "complete", { ...hello, model: "chat-1" }, { credential: token });
    await run(core, "complete", { ...hello, model: "big-1" }, { credential: other });
    await expect(
      run(core, "complete", { ...hello, model: "big-1" }, { credential: token }),
    ).rejects.toEqual(failure("model_not_allowed"));
    await expect(run(core, "complete", hello, { credential: "me" })).rejects.toEqual(
      failure("invalid_token"),
    );
    const [list] = await run(core, "listModels", {}, { credential: token });
    expect(list?.models.map((m) => m.id)).toEqual(["chat-1"]);
  });
  it("token: members of a team use what both it and their token name, by whatever name", async () => {
    const [one, all, other] = [createToken(), createToken(), createToken()];
    const core = coreOf(
      [scripted({ chat: says("x") }, [chatModel("chat-1"), chatModel("chat-2"), chatModel("big")])],
      {
        models: [{ name: "chat-1", aliases: ["first"] }],
        auth: {
          mode: "token",
          tokens: [
            { name: "a", hash: hashToken(one), models: ["first", "big"], team: "red" },
            { name: "b", hash: hashToken(all), team: "red" },
            { name: "c", hash: hashToken(other), models: ["big"], team: "unknown" },
          ],
          teams: [{ name: "red", models: ["chat-*"] }, { name: "blue" }],
        },
      },
    );
    const ask = (credential: string, model: string) =>
      run(core, "complete", { ...hello, model }, { credential }).then(
        () => "ok",
        ({ message }: Error) => message,
      );
    // The token names it by an alias, the team by its name.
    expect(await ask(one, "first")).toBe("ok");
    expect(await ask(one, "big")).toBe('this token\'s team may not use the model "big"');
    expect(await ask(one, "chat-2")).toBe('this token may not use the model "chat-2"');
    expect(await ask(all, "chat-2")).toBe("ok");
    expect(await ask(all, "big")).toBe('this token\'s team may not use the model "big"');
    expect(await ask(other, "big")).toBe("ok");
    const listed = async (credential: string) => {
      const [list] = await run(core, "listModels", {}, { credential });
      return list?.models.map(({ id }) => id);
    };
    expect(await listed(one)).toEqual(["first"]);
    expect(await listed(all)).toEqual(["chat-1", "chat-2", "first"]);
    expect(await listed(other)).toEqual(["big"]);
  });
  it("none: without a token, chosen in so many words", async () => {
    await run(coreOf([backend()], { auth: { mode: "none" } }), "complete", hello, {
      credential: undefined,
    });
  });
  it("comes before validation and before what the door found", async () => {
    const defect = new LintelError("invalid_json", "broken");
    const core = coreOf([backend()]);
    await expect(run(core, "complete", {}, { credential: undefined, defect })).rejects.toEqual(
      failure("invalid_token"),
    );
    await expect(run(core, "complete", {}, { defect })).rejects.toBe(defect);
  });
});
