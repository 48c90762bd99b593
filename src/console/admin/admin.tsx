/** For operators: what the gateway does, usage and tokens, with an administrator's token. */
import { useMemo, useState } from "preact/hooks";
import { TokenForm } from "../account.js";
import { gatewayFor } from "../gateway.js";
import { adminToken } from "../token.js";
import { StatusView } from "./status.js";
import { Tokens } from "./tokens.js";
import { UsageView } from "./usage.js";
import type { Administer } from "./wire.js";

/** Asks nothing before somebody says a token. */
export function Administration() {
  const [token, setToken] = useState(adminToken.kept);
  const [refused, setRefused] = useState(false);
  const administer = useMemo((): Administer => {
    const gateway = gatewayFor(
      () => token ?? "",
      () => setRefused(true),
    );
    return async (name, body) => (await gateway.call(`lintel.admin.v1.${name}`, body)).json();
  }, [token]);
  const take = (said: string, keep: boolean) => {
    adminToken.keep(said, keep);
    setRefused(false);
    setToken(said);
  };
  if (token === undefined || refused) {
    return (
      <section class="wide">
        <p>
          {refused
            ? "That token is no administrator's."
            : "This wants an administrator's token, which opens no calls."}
        </p>
        <TokenForm token="" onToken={take} />
      </section>
    );
  }
  const leave = () => {
    adminToken.forget();
    setToken(undefined);
  };
  return (
    <section class="wide">
      <div class="actions">
        <button type="button" class="quiet" onClick={leave}>
          Forget the token
        </button>
      </div>
      <StatusView administer={administer} />
      <UsageView administer={administer} />
      <Tokens administer={administer} />
    </section>
  );
}
