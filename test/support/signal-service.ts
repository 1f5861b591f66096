// The server's side of a signal, faked: what arrives, by name and values.
import { arrayFromPayloads, defaultDataConverter, defaultPayloadConverter } from '@temporalio/common';
import type { Client } from '@temporalio/client';

type Signal = (name: string, ...args: unknown[]) => Promise<unknown>;
export type SignalRequest = Parameters<Client['workflowService']['signalWorkflowExecution']>[0];

/** What of a client takes signals: `requests` are as they were made. */
export function signalService(signal: Signal, requests: SignalRequest[] = []) {
  return {
    options: { namespace: 'default', identity: 'test', loadedDataConverter: defaultDataConverter },
    workflowService: {
      signalWorkflowExecution: (request: SignalRequest) => {
        requests.push(request);
        const { signalName, input } = request;
        return signal(signalName ?? '', ...(arrayFromPayloads(defaultPayloadConverter, input?.payloads) ?? []));
      },
    },
  };
}
