/** Who asks, and what is left. */
import { useEffect, useState } from "preact/hooks";
import { Line, Tick } from "./fields.js";
import { accountOf, type Gateway, wordsOf } from "./gateway.js";
import { Alert } from "./notes.js";
import { OwnTokens } from "./own-tokens.js";
import { SignIn } from "./sign-in.js";
import { span } from "./time.js";
import type { Limit, Account as Told } from "./wire.js";

/** @param shown whether somebody looks; the gateway is asked whenever somebody begins to */
export function Account({
  gateway,
  shown,
  token,
  onToken,
  onOut,
}: {
  readonly gateway: Gateway;
  readonly shown: boolean;
  readonly token: string;
  readonly onToken: (token: string, keep: boolean) => void;
  readonly onOut: (problem: string | undefined) => void;
}) {
  const [account, setAccount] = useState<Told>();
  const [error, setError] = useState<string>();
  useEffect(() => {
    if (!shown) return;
    accountOf(gateway).then(
      (told) => {
        setAccount(told);
        setError(undefined);
      },
      (reason) => setError(wordsOf(reason)),
    );
  }, [gateway, shown]);
  return (
    <section class="wide">
      <SignIn onOut={onOut} />
      <TokenForm key={token} token={token} onToken={onToken} />
      {error !== undefined && <Alert text={error} />}
      {account && error === undefined && <Who account={account} />}
      {isIssuers(token) && error === undefined && <OwnTokens gateway={gateway} shown={shown} />}
    </section>
  );
}

/** Whether an issuer vouches for who calls: by a JWT, or by who signed in. */
const isIssuers = (token: string): boolean => token === "" || token.split(".").length === 3;

/** Where somebody says a token. */
export function TokenForm({
  token,
  onToken,
}: {
  readonly token: string;
  readonly onToken: (token: string, keep: boolean) => void;
}) {
  const [written, setWritten] = useState(token);
  const [keep, setKeep] = useState(false);
  return (
    <form
      class="token"
      onSubmit={(event) => {
        event.preventDefault();
        if (written.trim() !== "") onToken(written.trim(), keep);
      }}
    >
      <Line label="Token" type="password" value={written} onChange={setWritten} />
      <Tick label="Keep it in this browser" checked={keep} onChange={setKeep} />
      <button type="submit">Use it</button>
    </form>
  );
}

const Who = ({ account }: { readonly account: Told }) => (
  <>
    <dl>
      <dt>Caller</dt>
      <dd>{account.caller}</dd>
      {account.team !== "" && (
        <>
          <dt>Team</dt>
          <dd>{account.team}</dd>
        </>
      )}
      <dt>May use</dt>
      <dd>
        {account.models.join(", ")}
        {account.team !== "" && `, of these what the team may: ${account.team_models.join(", ")}`}
      </dd>
      {account.expires_at !== undefined && (
        <>
          <dt>Until</dt>
          <dd>{new Date(account.expires_at).toLocaleString()}</dd>
        </>
      )}
    </dl>
    {account.limits.length === 0 ? (
      <p class="empty">Nothing is limited.</p>
    ) : (
      <table>
        <thead>
          <tr>
            <th>Limit</th>
            <th>Whose</th>
            <th>Left</th>
            <th>Whole again</th>
          </tr>
        </thead>
        <tbody>
          {account.limits.map((limit) => (
            <tr key={`${limit.scope} ${limit.name} ${limit.quantity} ${limit.window}`}>
              <td>
                {limit.quantity} {limit.window === "running" ? "" : `per ${limit.window}`}
              </td>
              <td>
                {limit.scope.replace("_", " and ")} {limit.name}
              </td>
              <td>
                <Left limit={limit} />
              </td>
              <td>{limit.reset_seconds !== undefined && `in ${span(limit.reset_seconds)}`}</td>
            </tr>
          ))}
        </tbody>
      </table>
    )}
  </>
);

const Left = ({ limit: { remaining, limit } }: { readonly limit: Limit }) =>
  remaining === undefined ? (
    <>not known now, of {limit.toLocaleString()}</>
  ) : (
    <>
      <meter max={limit} value={remaining} low={limit / 10} />{" "}
      {remaining.toLocaleString(undefined, { maximumFractionDigits: 2 })} of{" "}
      {limit.toLocaleString()}
    </>
  );
