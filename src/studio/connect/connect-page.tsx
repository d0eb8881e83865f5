import { useSignal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { type Application, APPLICATIONS, type Connection, KEY_VARIABLE } from '../../contract/applications.ts'
import { models } from '../conversation/settings.ts'
import { CodeBox } from '../part/code.tsx'
import { CopyButton } from '../part/copy-button.tsx'
import { Icon } from '../part/icon.tsx'
import { Empty } from '../part/problem.tsx'
import { hrefOf } from '../route.ts'
import { textOfFile } from './file-text.ts'

const ALL: readonly (readonly [name: string, application: Application])[] = Object.entries(APPLICATIONS)

/** What applications need to work with this edge, as `edgecall connect` prints it. */
export function ConnectPage({ application: name }: { readonly application?: string }): JSX.Element {
  const model = useSignal('')
  const chosenModel = model.value || models.value[0] || 'provider/name'
  const application = ALL.find(([each]) => each === name)?.[1]
  return (
    <>
      <header class="head">
        <h1>Connect</h1>
        <span class="faint nophone">applications with this edge</span>
      </header>
      <div class={name === undefined ? 'split list' : 'split list has-detail'}>
        <section aria-label="All applications">
          <div class="items">
            {ALL.map(([each, { title, speaks, model: asks, tools }]) => (
              <a
                key={each}
                class="item"
                href={hrefOf({ page: 'connect', application: each })}
                aria-current={each === name ? 'true' : undefined}
              >
                <span class="bar">
                  <b>{title}</b>
                  <small>{[...(asks ? [speaks ?? 'By hand'] : []), ...(tools ? ['MCP'] : [])].join(', ')}</small>
                </span>
              </a>
            ))}
          </div>
        </section>
        <section class="sheet" aria-label="Application">
          <a class="btn quiet back" href={hrefOf({ page: 'connect' })}>
            <Icon name="back" />
            Applications
          </a>
          <div class="scroll" tabIndex={0}>
            {name !== undefined && application ? (
              <div class="stack pad">
                <h2>{application.title}</h2>
                <Facts model={chosenModel} onModel={(chosen) => (model.value = chosen)} application={application} />
                <Ways key={name} name={name} application={application} model={chosenModel} />
              </div>
            ) : (
              <Empty
                icon="connect"
                title="Select an application"
                text="Its address, key, model and settings for this edge show here."
              />
            )}
          </div>
        </section>
      </div>
    </>
  )
}

interface FactsProps {
  readonly application: Application
  readonly model: string
  readonly onModel: (model: string) => void
}

function Facts({ application: { speaks, tools, model: asks }, model, onModel }: FactsProps): JSX.Element {
  return (
    <dl class="facts">
      <dt>Address</dt>
      <dd>
        <Copied text={location.origin} what="Address" />
      </dd>
      {speaks && (
        <>
          <dt>Protocol</dt>
          <dd>{speaks}</dd>
        </>
      )}
      {tools && (
        <>
          <dt>MCP server</dt>
          <dd>
            <Copied text={`${location.origin}/mcp`} what="Address of the MCP server" />
          </dd>
        </>
      )}
      <dt>Key</dt>
      <dd>
        The variable <code>{KEY_VARIABLE}</code>, set where the application runs. This page shows no key: make one for
        each person with <code>npx edgecall keys new</code>.
      </dd>
      {asks && (
        <>
          <dt>
            <label for="connect-model">Model</label>
          </dt>
          <dd>
            <select id="connect-model" value={model} onChange={(event) => onModel(event.currentTarget.value)}>
              {(models.value.length > 0 ? models.value : [model]).map((each) => (
                <option key={each}>{each}</option>
              ))}
            </select>
          </dd>
        </>
      )}
    </dl>
  )
}

function Copied({ text, what }: { readonly text: string; readonly what: string }): JSX.Element {
  return (
    <span class="bar">
      <code>{text}</code>
      <CopyButton text={() => text} what={what} />
    </span>
  )
}

interface WaysProps {
  readonly name: string
  readonly application: Application
  readonly model: string
}

function Ways({ name, application, model }: WaysProps): JSX.Element {
  const { model: asks, tools, start } = application
  const url = location.origin
  const command = `npx edgecall connect ${name} --url ${url}`
  return (
    <>
      {asks && (
        <Way title="With the models of this edge" command={`${command} --model ${model} --write`}>
          <Parts connection={asks({ url, model })} start={start} />
        </Way>
      )}
      {tools && (
        <Way title="With a model of its own, and the tools of this edge" command={`${command} --tools --write`}>
          <Parts connection={tools({ url })} />
        </Way>
      )}
    </>
  )
}

interface WayProps {
  readonly title: string
  readonly command: string
  readonly children: ComponentChildren
}

function Way({ title, command, children }: WayProps): JSX.Element {
  return (
    <section class="stack" aria-label={title}>
      <h3>{title}</h3>
      {children}
      <CodeBox code={command} language="sh" title="Or have it set" label="Command that sets this" />
    </section>
  )
}

interface PartsProps {
  readonly connection: Connection
  readonly start?: string | undefined
}

function Parts({ connection: { files = [], variables = {}, code, note }, start }: PartsProps): JSX.Element {
  const shell = [
    ...Object.entries(variables).map(([variable, value]) => `export ${variable}=${value}\n`),
    ...(start === undefined ? [] : [`${start}\n`]),
  ].join('')
  return (
    <>
      {files.map((file) => (
        <CodeBox
          key={file.path}
          code={textOfFile(file)}
          language={file.path.slice(file.path.lastIndexOf('.') + 1)}
          title={file.path}
          label={file.path}
        />
      ))}
      {code !== undefined && <CodeBox code={code} language="ts" label="Code" />}
      {shell !== '' && <CodeBox code={shell} language="sh" title="In the shell" label="Commands of the shell" />}
      {note !== undefined && <p class="hint">{note}</p>}
    </>
  )
}
