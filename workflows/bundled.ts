// Guards the workflow in its bundle: nothing that a client sends may fail a workflow task, because
// every retry of the task would fail, too.
import { ApplicationFailure, DefaultFailureConverter, type PayloadConverter } from '@temporalio/common';
import { workflowInfo, type WorkflowInterceptors } from '@temporalio/workflow';
import { BY_HAND } from './contract/failures.ts';
import { WORKFLOW_TYPE } from './contract/session.ts';

/** The SDK keeps these names for itself, and throws when a default handler would receive one. */
const RESERVED_PREFIX = '__temporal_';

/**
 * Drops signals of reserved names before they are dispatched, which leaves the others in their
 * order. Other workflows of the bundle, a user's own, may have handlers for them.
 */
export const interceptors = (): WorkflowInterceptors => ({
  internals:
    workflowInfo().workflowType !== WORKFLOW_TYPE
      ? []
      : [
          {
            activate(input, next) {
              const { jobs } = input.activation;
              if (jobs)
                input.activation.jobs = jobs.filter(
                  ({ signalWorkflow }) => !signalWorkflow?.signalName?.startsWith(RESERVED_PREFIX),
                );
              next(input);
            },
          },
        ],
});

type Failure = Parameters<DefaultFailureConverter['failureToError']>[0];
type Context = Parameters<DefaultFailureConverter['failureToError']>[2];

/**
 * Sends messages, stacks and the type of a failure as a payload, so that a codec encodes them: the
 * type tells the loop what to do. A failure without such a payload, or with another type, was not
 * made by a worker but by someone who can reach the server: its message then says so, and its type
 * does not count.
 */
class Failures extends DefaultFailureConverter {
  constructor() {
    super({ encodeCommonAttributes: true });
  }

  override errorToFailure(error: unknown, converter: PayloadConverter, context?: Context): Failure {
    const failure = super.errorToFailure(error, converter, context);
    const { applicationFailureInfo, encodedAttributes } = failure;
    if (!applicationFailureInfo || !encodedAttributes) return failure;
    const attributes: object = { ...converter.fromPayload(encodedAttributes, context), type: typeOf(failure) };
    return { ...failure, encodedAttributes: converter.toPayload(attributes, context) };
  }

  override failureToError(failure: Failure, converter: PayloadConverter, context?: Context): Error {
    try {
      const known = isOfWorker(failure, converter, context) ? failure : asByHand(failure);
      return super.failureToError(known, converter, context);
    } catch {
      // The SDK throws for an unknown enum or a missing attribute, and would throw again on every
      // try.
      return ApplicationFailure.nonRetryable('it failed, and its failure cannot be read', 'UnreadableFailure');
    }
  }
}

function isOfWorker(failure: Failure, converter: PayloadConverter, context?: Context): boolean {
  const { applicationFailureInfo, encodedAttributes } = failure;
  if (!applicationFailureInfo) return true;
  if (!encodedAttributes) return false;
  const attributes = converter.fromPayload<{ readonly type?: unknown } | null>(encodedAttributes, context);
  return attributes?.type === typeOf(failure);
}

const typeOf = ({ applicationFailureInfo }: Failure): string => applicationFailureInfo?.type ?? '';

function asByHand({ encodedAttributes, ...failure }: Failure): Failure {
  const message = `${BY_HAND.prefix}${encodedAttributes ? 'what it says cannot be trusted' : (failure.message ?? 'no message')}`;
  return {
    ...failure,
    message,
    applicationFailureInfo: { ...failure.applicationFailureInfo, type: BY_HAND.type },
  };
}

export const failureConverter = new Failures();
