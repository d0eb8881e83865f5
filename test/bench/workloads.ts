import { manyTools } from './many-tools.ts'

/** What is asked of every subject. */
export interface Workload {
  readonly name: string
  /** The script of the model; see `model-process.ts`. */
  readonly model: string
  readonly stream?: boolean
  /** Whether 500 tools are registered beside the five. */
  readonly many?: boolean
  /** Tools that the caller sends, in the format of Chat Completions. */
  readonly tools?: readonly object[]
  readonly messages: readonly object[]
  /** Requests of a subject in one round. */
  readonly requests: number
  /** Only in a conversation: how many messages it has, or `new` for one that does not exist before the request. */
  readonly conversation?: number | 'new'
}

const QUESTION = { role: 'user', content: 'What is the square root of 2?' }
const MESSAGES = [QUESTION]

const BODIES = manyTools(500).map(({ name, description, inputSchema: parameters }) => {
  return { type: 'function', function: { name, description, parameters } }
})

/** 1,000 messages of 500 characters, and a question. */
const LONG = [
  ...Array.from({ length: 1000 }, (_, at) => {
    return { role: at % 2 === 0 ? 'user' : 'assistant', content: `${at} ${'lorem ipsum '.repeat(42)}`.slice(0, 500) }
  }),
  QUESTION,
]

/** Workloads that a subject performs with a conversation and without. */
export const WORKLOADS: readonly Workload[] = [
  { name: 'an answer', model: 'answer-8', messages: MESSAGES, requests: 20 },
  { name: 'an answer, streamed', model: 'answer-8', stream: true, messages: MESSAGES, requests: 20 },
  { name: '10 steps of a tool', model: 'steps-10', messages: MESSAGES, requests: 10 },
  { name: '10 steps, streamed', model: 'steps-10', stream: true, messages: MESSAGES, requests: 10 },
  { name: '8 tools of 50 ms at once', model: 'parallel-8', messages: MESSAGES, requests: 5 },
  { name: '2,000 tokens, streamed', model: 'answer-2000', stream: true, messages: MESSAGES, requests: 5 },
  { name: 'an argument of 2,000 parts', model: 'argument-2000', stream: true, messages: MESSAGES, requests: 5 },
  { name: '500 tools registered', model: 'steps-1', many: true, messages: MESSAGES, requests: 6 },
  { name: '500 tools sent', model: 'answer-8', tools: BODIES, messages: MESSAGES, requests: 6 },
]

/** A workload only for subjects that are sent the history. */
export const ALONE: readonly Workload[] = [
  { name: '1,000 messages sent', model: 'answer-8', messages: LONG, requests: 6 },
]

/** Workloads only for subjects that store the history. */
export const STORED: readonly Workload[] = [
  { name: 'a new conversation', model: 'answer-8', messages: MESSAGES, requests: 15, conversation: 'new' },
  { name: 'after 1,000 messages', model: 'answer-8', messages: MESSAGES, requests: 10, conversation: 1000 },
  { name: 'after 10,000 messages', model: 'answer-8', messages: MESSAGES, requests: 10, conversation: 10_000 },
]

/** The text that ends every answer of the model. */
export const LAST_WORD = 'word7 '
