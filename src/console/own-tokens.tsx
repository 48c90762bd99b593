/** Tokens that callers make for themselves: for whoever came by an issuer that lets them. */
import { useCallback, useEffect, useState } from "preact/hooks";
import { Line, numberIn } from "./fields.js";
import { Failure, type Gateway, wordsOf } from "./gateway.js";
import { Alert } from "./notes.js";
import { Scrolls } from "./scrolls.js";
import { Secret } from "./secret.js";
import type { ListOwnTokens, MadeOwnToken, OwnToken } from "./wire.js";

const daySeconds = 86_400;

/** @param shown whether somebody looks; the gateway is asked whenever somebody begins to */
export function OwnTokens({
  gateway,
  shown,
}: {
  readonly gateway: Gateway;
  readonly shown: boolean;
}) {
  const [list, setList] = useState<ListOwnTokens>();
  const [made, setMade] = useState<MadeOwnToken>();
  const [error, setError] = useState<string>();
  const ask = useCallback(
    async <T,>(method: string, body: object): Promise<T> =>
      (await gateway.call(`lintel.v1.TokensService/${method}`, body)).json(),
    [gateway],
  );
  /** Does something, and shows all anew, or why that failed. */
  const attempt = useCallback(
    async (what: () => Promise<void>) => {
      try {
        await what();
        setList(await ask<ListOwnTokens>("ListTokens", {}));
        setError(undefined);
      } catch (reason) {
        // Who may make none is not bothered with it.
        if (reason instanceof Failure && reason.status === 403) setList(undefined);
        else setError(wordsOf(reason));
      }
    },
    [ask],
  );
  useEffect(() => {
    if (shown) void attempt(async () => {});
  }, [attempt, shown]);

  if (!list) return error === undefined ? null : <Alert text={error} />;
  const revoke = ({ id, name }: OwnToken) => {
    if (!confirm(`End your token ${name}? What runs with it is refused from now on.`)) return;
    void attempt(async () => void (await ask("RevokeToken", { token: id })));
  };
  return (
    <>
      <h2>Your tokens</h2>
      <p>
        For programs that can't sign in. Each is you, with your limits, and ends within{" "}
        {Math.floor(list.max_ttl_seconds / daySeconds) || "less than 1"} days. You may have{" "}
        {list.max_tokens}.
      </p>
      {error !== undefined && <Alert text={error} />}
      {made && (
        <Secret name={made.token.name} secret={made.secret} onSeen={() => setMade(undefined)} />
      )}
      {list.tokens.length < list.max_tokens && (
        <NewOwnToken
          onMake={(request) =>
            attempt(async () => setMade(await ask<MadeOwnToken>("CreateToken", request)))
          }
        />
      )}
      {list.tokens.length > 0 && (
        <Scrolls>
          <table aria-label="Your tokens">
            <thead>
              <tr>
                <th>Name</th>
                <th>Made</th>
                <th>Until</th>
                <th>
                  <span class="unseen">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {list.tokens.map((token) => (
                <tr key={token.id}>
                  <td>
                    {token.name}
                    <small>{token.id}</small>
                  </td>
                  <td>{new Date(token.created_at).toLocaleString()}</td>
                  <td>{new Date(token.expires_at).toLocaleString()}</td>
                  <td>
                    <button type="button" class="quiet danger" onClick={() => revoke(token)}>
                      Revoke
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scrolls>
      )}
    </>
  );
}

/** @param onMake gets the request of `CreateToken` */
function NewOwnToken({ onMake }: { readonly onMake: (request: object) => Promise<void> }) {
  const [name, setName] = useState("");
  const [days, setDays] = useState("");
  return (
    <form
      class="grid"
      aria-label="New token of yours"
      onSubmit={(event) => {
        event.preventDefault();
        void onMake({
          name: name.trim(),
          ttl_seconds: Math.round((numberIn(days) ?? 0) * daySeconds),
        });
        setName("");
      }}
    >
      <Line label="What it is for" placeholder="laptop" value={name} onChange={setName} />
      <Line
        label="Days until it ends"
        type="number"
        placeholder="as many as may be"
        value={days}
        onChange={setDays}
      />
      <button type="submit">Make it</button>
    </form>
  );
}
