import type { Answer, Question } from './model.ts'

/** A call of a tool, as a model asks for it. */
export interface Call {
  readonly tool: string
  readonly arguments: object
}

/** How the model of a row reaches the tools of its application, by their names there. */
export interface Hands {
  readonly write: (path: string, text: string, question: Question) => Call
  readonly edit: (change: { path: string; from: string; to: string }, question: Question) => Call
  readonly shell: (command: string, question: Question) => Call
  /** The calls that start a subagent and wait for it, each made of the last result. Without it, the application has none. */
  readonly agent?: (prompt: string) => readonly ((question: Question, last: string) => Call)[]
  /** A tool of the edge that the application offers, by MCP. */
  readonly mcp?: (tool: string, args: object, question: Question) => Call
}

/** What a person asks an application, one run of it after another; what the model does; and what must come of it. */
export interface Scenario {
  /** Each prompt begins with a word in brackets, by which the model knows where it is. */
  readonly prompts: readonly string[]
  /** Whether the application also has the tools of the edge by MCP. */
  readonly usesMcp?: boolean
  /** Whether the application compacts its history before the last prompt. */
  readonly compacts?: boolean
  /** Makes the model of a run of the scenario. */
  readonly model: (hands: Hands) => (question: Question) => Answer
  /** The files of the project after it. */
  readonly files?: Readonly<Record<string, string>>
  /** What the application shows, prompt by prompt. */
  readonly shows: readonly string[]
}

const OVERLOADED = 529

/** Tools by which a model has something shown to it first, such as other tools. */
const LOOKS = /^(?:tool_?search|search_tools|read)$/i

/** Answers of the model for each step of a run, which begins with the prompt of that marker. */
type Steps = readonly ((question: Question, last: string) => Call | Answer)[]

/**
 * Plays steps: the next is found by how many calls the model has made since the prompt. A request that holds none of the
 * prompts is one for a title or a summary.
 */
function play(parts: Readonly<Record<string, Steps>>): (question: Question) => Answer {
  return (question) => {
    const { turns } = question
    const lastUser = turns.findLast(({ role, text }) => role === 'user' && text.trim() !== '')?.text ?? ''
    const wantsSummary = /\b(?:summar|compact|compress|handoff|state_snapshot)/i.test(
      lastUser.replaceAll(/<(system-reminder|task-notification)>[^]*?<\/\1>/g, ''),
    )
    const places = Object.keys(parts).map((marker) => ({
      marker,
      at: turns.findLastIndex(({ role, text }) => role === 'user' && text.includes(`[${marker}]`)),
    }))
    // Prompts may share a message, after a compaction: the later one is meant.
    const { marker, at } = places.reduce((a, b) => (b.at >= a.at ? b : a))
    if (at < 0 || (wantsSummary && !lastUser.includes(`[${marker}]`)) || question.tools.length === 0)
      return { text: `<summary>${SUMMARY}</summary>` }
    const since = turns.slice(at)
    const done = since.filter(({ calls }) => calls.some((name) => !LOOKS.test(name))).length
    const step = parts[marker]?.[done]
    const next = step?.(question, since.at(-1)?.text ?? '') ?? { text: 'I have nothing more to do.' }
    if (!('tool' in next)) return next
    return { calls: [{ tool: next.tool, arguments: JSON.stringify(next.arguments) }] }
  }
}

/** What the model answers when it is asked for a summary or a title. */
const SUMMARY = 'The blue lighthouse stands at 7 fathoms.'

const says = (text: string): Answer => ({ reasoning: 'That is all.', text })

/** What the model reads last is in its answer, so that the application shows what came of a call. */
const quotes =
  (start: string) =>
  (_: Question, last: string): Answer =>
    says(`${start} ${last.replaceAll(/\s+/g, ' ').slice(-600)}`)

/** Whether a text is in what the model was shown. No prompt has it. */
const reads = ({ turns }: Question, text: string): boolean => turns.some((turn) => turn.text.includes(text))

/** Says whether the model was shown a text before. */
const remembers =
  (text: string) =>
  (question: Question): Answer =>
    says(reads(question, text) ? `Yes, I read: ${text}` : 'No, I never read that.')

const forecast = (): Call => ({ tool: 'forecast', arguments: { place: 'Oslo' } })

export const SCENARIOS = {
  task: {
    prompts: [
      '[task] Write notes.txt, correct it, count its lines, and look up the weather in Oslo.',
      '[second] What was the weather?',
    ],
    model: ({ write, edit, shell }) =>
      play({
        task: [
          (question) => write('notes.txt', 'alpha\nbeta\n', question),
          (question) => edit({ path: 'notes.txt', from: 'beta', to: 'gamma' }, question),
          (question) => shell('grep -c a notes.txt > count.txt', question),
          forecast,
          quotes('All four are done.'),
        ],
        second: [remembers('All four are done.')],
      }),
    files: { 'notes.txt': 'alpha\ngamma\n', 'count.txt': '2\n' },
    shows: ['Mild, 18 degrees', 'Yes, I read: All four are done.'],
  },
  compaction: {
    prompts: ['[long] Say that you have read the files.', '[after] What do you remember?'],
    compacts: true,
    model: () =>
      play({
        long: [() => says('I have read all of the files.')],
        after: [
          (question) =>
            reads(question, 'I have read all') ? says('It was not compacted.') : remembers(SUMMARY)(question),
        ],
      }),
    shows: ['I have read all of the files.', `Yes, I read: ${SUMMARY}`],
  },
  subagent: {
    prompts: ['[agent] Let a subagent count.'],
    model: ({ agent, shell }) =>
      play({
        agent: [...(agent?.('[inner] Count to 41 in the shell.') ?? []), quotes('The subagent says:')],
        inner: [(question) => shell('echo $((40+1)) > inner.txt', question), () => says('It counted to forty-one.')],
      }),
    files: { 'inner.txt': '41\n' },
    shows: ['It counted to forty-one.'],
  },
  approval: {
    prompts: [
      '[ask] What is the square root of 1764?',
      '[again] Somebody has allowed it. What is the square root of 1764?',
    ],
    usesMcp: true,
    model: ({ mcp }) => {
      const root = (question: Question): Call | Answer =>
        mcp?.('squareRoot', { number: 1764 }, question) ?? says('There is no such tool.')
      return play({ ask: [root, quotes('I asked:')], again: [root, quotes('The answer is')] })
    },
    shows: ['a person must allow this call', '42'],
  },
  overload: {
    prompts: ['[busy] Say that it went well.'],
    model: () => {
      let refusals = 0
      return (question) => {
        const isAnswer = question.turns.some(({ text }) => text.includes('[busy]')) && question.tools.length > 0
        if (isAnswer && refusals++ < 1) return { status: question.protocol === 'messages' ? OVERLOADED : 429 }
        return play({ busy: [() => says('It went well in the end.')] })(question)
      }
    },
    shows: ['It went well in the end.'],
  },
  cut: {
    prompts: ['[cut] Say that all of it is here.'],
    model: () => {
      let cuts = 0
      return (question) => {
        const answer = play({
          cut: [() => says('Here is the whole answer, from the first word to the very last one.')],
        })(question)
        const isAnswer = !('status' in answer) && answer.text?.includes(SUMMARY) !== true
        return isAnswer && cuts++ < 1 ? { ...answer, isCut: true } : answer
      }
    },
    shows: ['from the first word to the very last one.'],
  },
} satisfies Readonly<Record<string, Scenario>>
