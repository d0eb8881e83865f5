import type { JSX } from 'preact'
import type { Question } from '../../contract/input.ts'
import { visible } from '../../contract/hidden-characters.ts'
import { Field } from '../tool/schema-field.tsx'
import { emptyOf } from '../tool/schema-value.ts'

/** What a person fills in, by the names of the questions. */
export type Answers = Readonly<Record<string, unknown>>

/** Returns the answers before anything is filled in. */
export function emptyAnswers(questions: readonly Question[]): Answers {
  return Object.fromEntries(
    questions.flatMap(({ name, schema }) => (schema ? [[name, emptyOf(schema, schema) ?? {}]] : [])),
  )
}

/** What a call asks a person for: forms, and pages to open. */
export function AnswerFields({
  questions,
  answers,
  onChange,
}: {
  readonly questions: readonly Question[]
  readonly answers: Answers
  readonly onChange: (answers: Answers) => void
}): JSX.Element {
  return (
    <>
      {questions.map(({ name, message, schema, url }) => (
        <fieldset key={name}>
          <legend>{visible(message)}</legend>
          {url !== undefined && <PageLink url={url} />}
          {schema && (
            <Field
              schema={schema}
              root={schema}
              name=""
              value={answers[name]}
              isRequired
              onChange={(value) => onChange({ ...answers, [name]: value ?? {} })}
            />
          )}
        </fieldset>
      ))}
    </>
  )
}

/** The address of a page, whole, so that a person sees where it leads. Only https is opened, and http on this machine. */
function PageLink({ url }: { readonly url: string }): JSX.Element {
  const { protocol = '', hostname = '' } = URL.canParse(url) ? new URL(url) : {}
  const isSafe = protocol === 'https:' || (protocol === 'http:' && ['localhost', '127.0.0.1'].includes(hostname))
  if (!isSafe) return <p class="fault">{visible(url)}</p>
  return (
    <p>
      <a href={url} target="_blank" rel="noopener noreferrer">
        {visible(url)}
      </a>
    </p>
  )
}
