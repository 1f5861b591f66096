// What the bundle puts around the workflow: what any client can send must not fail a workflow task, for it would on every try.
import { ApplicationFailure, DefaultFailureConverter, type PayloadConverter } from '@temporalio/common';
import type { WorkflowInterceptors } from '@temporalio/workflow';

/** Names that the SDK keeps for itself: it throws when a default handler is to have one. */
const RESERVED = '__temporal_';

/** Signals of reserved names are none of ours. Dropped before they are dispatched, which leaves the others in their order. */
export const interceptors = (): WorkflowInterceptors => ({
  internals: [
    {
      activate(input, next) {
        const { jobs } = input.activation;
        if (jobs)
          input.activation.jobs = jobs.filter(
            ({ signalWorkflow }) => !signalWorkflow?.signalName?.startsWith(RESERVED),
          );
        next(input);
      },
    },
  ],
});

type Failure = Parameters<DefaultFailureConverter['failureToError']>[0];
type Context = Parameters<DefaultFailureConverter['failureToError']>[2];

/**
 * Messages and stacks travel as a payload, so that a codec encodes them too. One that comes without was made by no worker, but by
 * whoever can reach the server: it says so, and its type, which would mean something to us, does not count.
 */
class Failures extends DefaultFailureConverter {
  constructor() {
    super({ encodeCommonAttributes: true });
  }

  override failureToError(failure: Failure, converter: PayloadConverter, context?: Context): Error {
    try {
      return super.failureToError(byHand(failure), converter, context);
    } catch {
      // An enum that nobody knows, an attribute that is missing: the SDK throws, and would throw again on every try.
      return ApplicationFailure.nonRetryable('it failed, and its failure cannot be read', 'UnreadableFailure');
    }
  }
}

function byHand(failure: Failure): Failure {
  const { applicationFailureInfo, encodedAttributes, message } = failure;
  if (!applicationFailureInfo || encodedAttributes) return failure;
  const said = `not said by a worker: ${message ?? 'no message'}`;
  return { ...failure, message: said, applicationFailureInfo: { ...applicationFailureInfo, type: 'ByHand' } };
}

export const failureConverter = new Failures();
