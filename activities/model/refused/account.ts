// Recognises that an account has used up its allowance, or that its key is refused. Waiting or
// another model does not help: a person has to act.
import type { APIError } from '@anthropic-ai/sdk';
import { CREDENTIAL_HEADER } from '../../../system/network.ts';

/** Sentences by `error.details.error_code`, which stays stable when messages change. */
const BY_CODE: Readonly<Record<string, string>> = {
  enforced_spend_limit_reached:
    'the spend limit that is set for this organization or workspace is reached until the next month begins: raise it under Limits in the console, then send `continue`',
  contract_spend_limit_reached:
    'what the contract of this organization allows is spent until the next month begins: ask whoever keeps the contract, or your contact at Anthropic, to raise it',
};

const OWN_LIMIT =
  'the spend limit of this organization or workspace is reached: raise it under Limits in the console, or wait until the day that is named';
const NO_CREDIT =
  'the account cannot be billed: see to its credit or payment under Billing in the console, then send `continue`';

/**
 * Says what a person can do, as the rest of a sentence; undefined for a failure of another kind.
 */
export function accountProblem(status: number | undefined, error: APIError): string | undefined {
  const code = error.errorCode ?? '';
  if (Object.hasOwn(BY_CODE, code)) return BY_CODE[code];
  if (status === 402) return NO_CREDIT;
  if (status === 401) return credentialProblem(error.headers?.get(CREDENTIAL_HEADER) ?? null);
  const said = error.apiMessage ?? error.message;
  if (status !== 400 && status !== 403) return undefined;
  if (/specified (API|workspace API) usage limits/i.test(said)) return OWN_LIMIT;
  return /credit balance is too low/i.test(said) ? NO_CREDIT : undefined;
}

/** `named`: what the worker knows of the credential; null when it knows nothing. */
function credentialProblem(named: string | null): string | undefined {
  if (named === null) return undefined;
  const at = named.lastIndexOf('@');
  const [name, host] = [named.slice(0, at), named.slice(at + 1)];
  return name === ''
    ? `${host} wants a key: set ANTHROPIC_API_KEY where the worker runs`
    : `${name} was rejected by ${host}: check or replace it where the worker runs`;
}
