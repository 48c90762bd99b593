/** Tokens of callers: which there are, new ones, and their end. */
import { useCallback, useEffect, useState } from "preact/hooks";
import { Tick } from "../fields.js";
import { wordsOf } from "../gateway.js";
import { Alert } from "../notes.js";
import { Scrolls } from "../scrolls.js";
import { Secret } from "../secret.js";
import { NewToken } from "./new-token.js";
import type { Administer, Limit, ListTokens, Made, Token } from "./wire.js";

export function Tokens({ administer }: { readonly administer: Administer }) {
  const [tokens, setTokens] = useState<readonly Token[]>([]);
  const [next, setNext] = useState("");
  const [revoked, setRevoked] = useState(false);
  const [made, setMade] = useState<Made>();
  const [error, setError] = useState<string>();

  const load = useCallback(
    async (page_token: string) => {
      const request = { include_revoked: revoked, page_size: 100, page_token };
      const page = await administer<ListTokens>("TokensService/ListTokens", request);
      setTokens((before) => (page_token === "" ? page.tokens : [...before, ...page.tokens]));
      setNext(page.next_page_token);
    },
    [administer, revoked],
  );
  /** Does something, and shows all anew, or why that failed. */
  const attempt = useCallback(
    async (what: () => Promise<void>) => {
      try {
        await what();
        await load("");
        setError(undefined);
      } catch (reason) {
        setError(wordsOf(reason));
      }
    },
    [load],
  );
  useEffect(() => void attempt(async () => {}), [attempt]);

  const rotate = ({ id, name }: Token) => {
    if (!confirm(`Make ${name}'s token anew? The one there is ends in a day.`)) return;
    void attempt(async () => {
      const request = { token: id, grace: "86400s" };
      setMade(await administer<Made>("TokensService/RotateToken", request));
    });
  };
  const revoke = ({ id, name }: Token) => {
    if (!confirm(`End ${name}'s token? What runs with it is refused from now on.`)) return;
    void attempt(() => administer("TokensService/RevokeToken", { token: id }));
  };

  return (
    <>
      <h2>Tokens</h2>
      {error !== undefined && <Alert text={error} />}
      {made && (
        <Secret
          name={made.token.name}
          secret={made.secret}
          warnings={made.warnings}
          onSeen={() => setMade(undefined)}
        />
      )}
      <NewToken
        onMake={(request) =>
          attempt(async () => setMade(await administer<Made>("TokensService/CreateToken", request)))
        }
      />
      <Tick label="Those that were revoked, too" checked={revoked} onChange={setRevoked} />
      <Scrolls>
        <table>
          <thead>
            <tr>
              <th>Name</th>
              <th>Team</th>
              <th>Models</th>
              <th>Limits</th>
              <th>Until</th>
              <th>State</th>
              <th>
                <span class="unseen">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {tokens.map((token) => (
              <tr key={token.id}>
                <td>
                  {token.name}
                  <small>{token.id}</small>
                  {token.owner !== "" && <small>made by {token.owner}</small>}
                </td>
                <td>{token.team}</td>
                <td>{token.owner === "" && (token.models.join(", ") || "all")}</td>
                <td>{limitsIn(token)}</td>
                <td>{token.expire_time ? new Date(token.expire_time).toLocaleString() : "—"}</td>
                <td>{token.state.replace("STATE_", "").toLowerCase()}</td>
                <td>
                  {token.state !== "STATE_REVOKED" && (
                    <div class="actions">
                      {token.owner === "" && (
                        <button type="button" class="quiet" onClick={() => rotate(token)}>
                          Rotate
                        </button>
                      )}
                      <button type="button" class="quiet danger" onClick={() => revoke(token)}>
                        Revoke
                      </button>
                    </div>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolls>
      {next !== "" && (
        <button type="button" class="quiet" onClick={() => void load(next)}>
          More
        </button>
      )}
    </>
  );
}

/** The limits of its own that a token has, in words. */
function limitsIn({ limits = {}, from_addresses }: Token): string {
  const own = Object.entries(limits).filter(
    (entry): entry is [string, Limit] => entry[0] !== "user" && entry[1] != null,
  );
  const told = own.map(([name, { amount, unlimited, period }]) => {
    const words = name.replaceAll("_", " ");
    if (unlimited) return `${words}: none`;
    return `${words}: ${amount}${period ? ` per ${period}` : ""}`;
  });
  const from = from_addresses.length > 0 ? [`from ${from_addresses.join(", ")}`] : [];
  return [...told, ...from].join("; ");
}
