/** Chat templates of models that call tools. */

/** In short, as models' own: what is called and what tools said in each form. */
export const templates = {
  hermes: `{%- if tools %}<|system|># Tools{% for tool in tools %}
{{ tool | tojson }}{% endfor %}
Answer with <tool_call>{"name": <name>, "arguments": <object>}</tool_call><|end|>{% endif %}
{%- for m in messages %}{%- if m.role == 'tool' %}<|user|><tool_response>{{ m.content }}</tool_response><|end|>
{%- else %}<|{{ m.role }}|>{{ m.content }}{% if m.tool_calls %}{% for call in m.tool_calls %}
{%- if call.function %}{% set call = call.function %}{% endif %}<tool_call>{"name": "{{ call.name }}", "arguments": {{ call.arguments | tojson }}}</tool_call>
{%- endfor %}{% endif %}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`,
  mistral: `{%- for m in messages %}{%- if m.role == 'user' %}
{%- if tools is defined and tools is not none %}[AVAILABLE_TOOLS][{% for tool in tools %}{{ tool.function | tojson }}{% endfor %}][/AVAILABLE_TOOLS]{% endif %}<|user|>{{ m.content }}
{%- elif m.tool_calls is defined and m.tool_calls is not none %}[TOOL_CALLS][{% for call in m.tool_calls %}{% if call.id | length != 9 %}{{ raise_exception('ids must be alphanumeric strings with length 9!') }}{% endif %}{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}, "id": "{{ call.id }}"}{% if not loop.last %}, {% endif %}{% endfor %}]<|end|>
{%- elif m.role == 'tool' %}[TOOL_RESULTS]{"content": {{ m.content }}, "call_id": "{{ m.tool_call_id }}"}[/TOOL_RESULTS]
{%- else %}{{ m.content }}<|end|>{% endif %}{% endfor %}`,
  mistralNamed: `{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% for call in m.tool_calls or [] %}[TOOL_CALLS]{{ call.function.name }}[ARGS]{{ call.function.arguments | tojson }}{% endfor %}<|end|>{% endfor %}<|assistant|>`,
  llama: `{%- for m in messages %}<|{{ 'user' if m.role == 'tool' else m.role }}|>{%- if loop.first and tools %}Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}.
{%- for t in tools %}{{ t | tojson(indent=4) }}{% endfor %}{% endif %}
{%- if 'tool_calls' in m %}{%- if m.tool_calls | length != 1 %}{{ raise_exception('one call at once!') }}{% endif %}{"name": "{{ m.tool_calls[0].function.name }}", "parameters": {{ m.tool_calls[0].function.arguments | tojson }}}{% else %}{{ m.content }}{% endif %}<|end|>{% endfor %}<|assistant|>`,
  phi: `{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% if loop.first and tools %}<|tool|>{{ tools | tojson }}<|/tool|> <|tool_call|>{% endif %}<|end|>{% endfor %}<|assistant|>`,
  qwenCoder: `{%- if tools %}<|system|># Tools{% for tool in tools %}
{{ tool.function | tojson }}{% endfor %}
Call them so:
<tool_call>
<function=name>
<parameter=one>
value
</parameter>
</function>
</tool_call><|end|>{% endif %}
{%- for m in messages %}{%- if m.role == 'tool' %}<|user|><tool_response>{{ m.content }}</tool_response><|end|>
{%- else %}<|{{ m.role }}|>{{ m.content }}{% for call in m.tool_calls or [] %}<tool_call>
<function={{ call.function.name }}>
{% for name, value in call.function.arguments | items %}<parameter={{ name }}>
{{ value | tojson if value is mapping or (value is iterable and value is not string) else value | string }}
</parameter>
{% endfor %}</function>
</tool_call>{% endfor %}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`,
  glm: `[gMASK]{%- if tools %}<|system|># Tools{% for tool in tools %}
{{ tool | tojson }}{% endfor %}
Call them so:
<tool_call>{name}
<arg_key>{key}</arg_key>
<arg_value>{value}</arg_value>
</tool_call><|end|>{% endif %}
{%- for m in messages %}{%- if m.role == 'tool' %}<|user|><tool_response>{{ m.content }}</tool_response><|end|>
{%- else %}<|{{ m.role }}|>{{ m.content }}{% for call in m.tool_calls or [] %}{{ '<tool_call>' + call.function.name }}{{ '\n' }}
{%- for key, value in call.function.arguments.items() %}{{ '<arg_key>' + key + '</arg_key>\n<arg_value>' }}{{ value if value is string else value | tojson }}{{ '</arg_value>\n' }}{% endfor %}{{ '</tool_call>' }}{% endfor %}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`,
  glmTight: `[gMASK]{%- if tools %}<|system|># Tools{% for tool in tools %}
{{ tool | tojson }}{% endfor %}
Call them so:
<tool_call>{name}<arg_key>{key}</arg_key><arg_value>{value}</arg_value></tool_call><|end|>{% endif %}
{%- for m in messages %}{%- if m.role == 'tool' %}<|user|><tool_response>{{ m.content }}</tool_response><|end|>
{%- else %}<|{{ m.role }}|>{{ m.content }}{% for call in m.tool_calls or [] %}{{ '<tool_call>' + call.function.name }}
{%- for key, value in call.function.arguments.items() %}{{ '<arg_key>' + key + '</arg_key><arg_value>' }}{{ value if value is string else value | tojson }}{{ '</arg_value>' }}{% endfor %}{{ '</tool_call>' }}{% endfor %}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`,
  harmony: `{%- if tools %}<|start|>developer<|message|># Tools{% for tool in tools %}
{{ tool.function | tojson }}{% endfor %}<|end|>{% endif %}
{%- for m in messages %}{%- if 'tool_calls' in m %}{% if m.tool_calls | length != 1 %}{{ raise_exception('one call at once!') }}{% endif %}<|start|>assistant to=functions.{{ m.tool_calls[0].function.name }}<|channel|>commentary json<|message|>{{ m.tool_calls[0].function.arguments | tojson }}<|call|>
{%- elif m.role == 'tool' %}<|start|>functions.{{ m.name }} to=assistant<|channel|>commentary<|message|>{{ m.content }}<|end|>
{%- elif m.role == 'assistant' %}<|start|>assistant<|channel|>final<|message|>{{ m.content }}<|end|>
{%- else %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|start|>assistant{% endif %}`,
  glimmer: `{%- if tools %}<|start|>system<|message|>Tools:{% for tool in tools %}
{{ tool.function | tojson }}{% endfor %}<|end|>{% endif %}
{%- for m in messages %}{%- if m.tool_calls %}{% for call in m.tool_calls %}{{ '<|start|>assistant to=' + call.function.name + '<|message|><atem:function_calls>\n<atem:invoke name="' + call.function.name + '">\n' }}{% for k, v in call.function.arguments.items() %}{{ '<atem:parameter name="' + k + '">' }}{{ v if v is string else v | tojson }}{{ '</atem:parameter>\n' }}{% endfor %}{{ '</atem:invoke>\n</atem:function_calls>' }}{{ '<|end|>' if loop.last else '<|eom|>' }}{% endfor %}
{%- elif m.role == 'tool' %}<|start|>tool {{ m.name }}<|message|>{{ m.content }}<|end|>
{%- elif m.role == 'assistant' %}{% if m.reasoning_content %}<|start|>assistant to=self<|message|>{{ m.reasoning_content }}<|eom|>{% endif %}<|start|>assistant to=user<|message|>{{ m.content }}<|end|>
{%- else %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|start|>assistant{% endif %}`,
  kimi: `{%- set asked = namespace(ids=[]) %}{% if tools %}<|system|>{{ tools | tojson }}<|end|>{% endif %}
{%- for m in messages %}<|{{ 'system' if m.role == 'tool' else m.role }}|>{% if m.role == 'tool' %}## Return of {{ asked.ids.pop(0) }}
{% endif %}{{ m.content }}{% if m.tool_calls %}<|tool_calls_section_begin|>{% for call in m.tool_calls %}{% set _ = asked.ids.append(call.id) %}<|tool_call_begin|>{{ call.id }}<|tool_call_argument_begin|>{{ call.function.arguments | tojson }}<|tool_call_end|>{% endfor %}<|tool_calls_section_end|>{% endif %}<|end|>{% endfor %}<|assistant|>`,
  deepSeek: `{% if tools %}<|system|>{{ tools | tojson }}<|end|>{% endif %}{% for m in messages %}<|{{ m.role }}|>{% if m.tool_calls and m.content is none %}<｜tool▁calls▁begin｜>{% for call in m.tool_calls %}{{ '<｜tool▁call▁begin｜>' + call.type + '<｜tool▁sep｜>' + call.function.name + '\n\`\`\`json\n' + call.function.arguments + '\n\`\`\`<｜tool▁call▁end｜>' }}{% endfor %}<｜tool▁calls▁end｜>{% else %}{{ m.content }}{% endif %}<|end|>{% endfor %}<|assistant|>`,
  deepSeekNamed: `{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% if m.tool_calls %}<｜tool▁calls▁begin｜>{% for call in m.tool_calls %}{{ '<｜tool▁call▁begin｜>' + call.function.name + '<｜tool▁sep｜>' + call.function.arguments | tojson + '<｜tool▁call▁end｜>' }}{% endfor %}<｜tool▁calls▁end｜>{% endif %}<|end|>{% endfor %}<|assistant|>`,
  llamaPython: `{% for m in messages %}<|{{ 'user' if m.role == 'tool' else m.role }}|>{% if loop.first and tools %}Use exactly this: [func_name1(param1=value1), func_name2(...)]
{{ tools | tojson }}{% endif %}{{ m.content }}{% if m.tool_calls %}[{% for call in m.tool_calls %}{{ call.function.name }}({% for name, value in call.function.arguments | items %}{{ name }}={{ value | tojson }}{% if not loop.last %}, {% endif %}{% endfor %}){% if not loop.last %}, {% endif %}{% endfor %}]{% endif %}<|end|>{% endfor %}<|assistant|>`,
  lfm: `{% if tools %}<|system|>List of tools: <|tool_list_start|>{{ tools | tojson }}<|tool_list_end|><|end|>{% endif %}{% for m in messages %}<|{{ 'user' if m.role == 'tool' else m.role }}|>{{ m.content }}<|end|>{% endfor %}<|assistant|>`,
  command: `{% if tools %}<|system|>{{ tools | tojson }}<|end|>{% endif %}{% for m in messages %}<|{{ 'system' if m.role == 'tool' else m.role }}|>{% if m.tool_calls %}<|START_ACTION|>[{% for call in m.tool_calls %}{"tool_call_id": "{{ loop.index0 }}", "tool_name": "{{ call.function.name }}", "parameters": {{ call.function.arguments | tojson }}}{% if not loop.last %},{% endif %}{% endfor %}]<|END_ACTION|>{% else %}{{ m.content }}{% endif %}<|end|>{% endfor %}<|assistant|>`,
  seed: `{% if tools %}<|system|>{{ tools | tojson }}<|end|>{% endif %}{% for m in messages %}<|{{ 'user' if m.role == 'tool' else m.role }}|>{{ m.content }}{% for call in m.tool_calls or [] %}{{ '<seed:tool_call>\n<function=' + call.function.name + '>\n' }}{% for name, value in call.function.arguments | items %}{{ '<parameter=' + name + '>' }}{{ value if value is string else value | string }}{{ '</parameter>\n' }}{% endfor %}{{ '</function>\n</seed:tool_call>' }}{% endfor %}<|end|>{% endfor %}<|assistant|>`,
  miniMax: `{% if tools %}<|system|>{{ tools | tojson }}<|end|>{% endif %}{% for m in messages %}<|{{ 'user' if m.role == 'tool' else m.role }}|>{{ m.content }}{% if m.tool_calls %}{{ '\n<minimax:tool_call>\n' }}{% for call in m.tool_calls %}{{ '<invoke name="' + call.function.name + '">\n' }}{% for name, value in call.function.arguments.items() %}{{ '<parameter name="' + name + '">' }}{{ value if value is string else value | tojson }}{{ '</parameter>\n' }}{% endfor %}{{ '</invoke>\n' }}{% endfor %}</minimax:tool_call>{% endif %}<|end|>{% endfor %}<|assistant|>`,
  deepSeekTags: `{% set mark = '｜DSML｜' %}{% if tools %}<|system|>{{ tools | tojson }}<|end|>{% endif %}{% for m in messages %}<|{{ 'user' if m.role == 'tool' else m.role }}|>{{ m.content }}{% if m.tool_calls %}{{ '\n\n<' + mark + 'function_calls>\n' }}{% for call in m.tool_calls %}{{ '<' + mark + 'invoke name="' + call.function.name + '">\n' }}{% for name, value in call.function.arguments.items() %}{{ '<' + mark + 'parameter name="' + name + '" string="' }}{{ 'true">' + value if value is string else 'false">' + value | tojson }}{{ '</' + mark + 'parameter>\n' }}{% endfor %}{{ '</' + mark + 'invoke>\n' }}{% endfor %}{{ '</' + mark + 'function_calls>' }}{% endif %}<|end|>{% endfor %}<|assistant|>`,
  gemma: `{% if tools %}<|system|>{{ tools | tojson }}<|end|>{% endif %}{% for m in messages %}<|{{ 'user' if m.role == 'tool' else m.role }}|>{{ m.content }}{% for call in m.tool_calls or [] %}{{ '<|tool_call>call:' + call.function.name }}{{ '{' }}{% for name, value in call.function.arguments | items %}{{ name }}:{{ '<|"|>' + value + '<|"|>' if value is string else value }}{% if not loop.last %},{% endif %}{% endfor %}{{ '}<tool_call|>' }}{% endfor %}<|end|>{% endfor %}<|assistant|>`,
  apertus: `{% if tools %}<|system|>{{ tools | tojson }}<|end|>{% endif %}{% for m in messages %}<|{{ 'user' if m.role == 'tool' else m.role }}|>{{ m.content }}{% if m.tool_calls %}<|tools_prefix|>[{% for call in m.tool_calls %}{"{{ call.function.name }}": {{ call.function.arguments | tojson }}}{% if not loop.last %}, {% endif %}{% endfor %}]<|tools_suffix|>{% endif %}<|end|>{% endfor %}<|assistant|>`,
  olmo: `{% if tools %}<|system|>{{ tools | tojson }}<|end|>{% endif %}{% for m in messages %}<|{{ 'user' if m.role == 'tool' else m.role }}|>{{ m.content }}{% if m.tool_calls %}{{ '<function_calls>\n' }}{% for call in m.tool_calls %}{{ call.function.name }}({% for name, value in call.function.arguments | items %}{{ name }}={{ value | tojson }}{% if not loop.last %}, {% endif %}{% endfor %}){{ '\n' }}{% endfor %}</function_calls>{% endif %}<|end|>{% endfor %}<|assistant|>`,
  functionary: `{% if tools %}<|system|>{{ tools | tojson }} <function=name>{"one": "value"}</function><|end|>{% endif %}{% for m in messages %}<|{{ 'user' if m.role == 'tool' else m.role }}|>{{ m.content }}{% for call in m.tool_calls or [] %}{{ '<function=' + call.function.name + '>' }}{{ call.function.arguments | tojson }}</function>{% endfor %}<|end|>{% endfor %}<|assistant|>`,
  gigaChat: `{% if tools %}function descriptions<|role_sep|>{{ tools | tojson }}<|end|>{% endif %}{% for m in messages %}<|{{ 'user' if m.role == 'tool' else m.role }}|>{{ m.content }}{% if m.tool_calls %}{{ 'function call<|role_sep|>\n' }}{"name": "{{ m.tool_calls[0].function.name }}", "arguments": {{ m.tool_calls[0].function.arguments | tojson }}}{% endif %}<|end|>{% endfor %}<|assistant|>`,
  miniCpm: `{% if tools %}<|system|>{{ tools | tojson }} <function name="function-name"><param name="param-name">param-value</param></function><|end|>{% endif %}{% for m in messages %}<|{{ 'user' if m.role == 'tool' else m.role }}|>{{ m.content }}{% for call in m.tool_calls or [] %}{{ '<function name="' + call.function.name + '">' }}{% for name, value in call.function.arguments.items() %}{{ '<param name="' + name + '">' }}{{ '<![CDATA[' + value + ']]>' if value is string and '<' in value else value }}{{ '</param>' }}{% endfor %}</function>{% endfor %}<|end|>{% endfor %}<|assistant|>`,
  miniMaxTags: `{%- macro told(v, ns) %}{% if v is mapping %}{% for k, one in v.items() %}{{ ns }}<{{ k }}>{{ told(one, ns) }}{{ ns }}</{{ k }}>{% endfor %}{% elif v is iterable and v is not string %}{% for one in v %}{{ ns }}<item>{{ told(one, ns) }}{{ ns }}</item>{% endfor %}{% else %}{{ v }}{% endif %}{% endmacro %}{% set ns = ']<]minimax[>[' %}{% if tools %}<|system|>{{ tools | tojson }}<|end|>{% endif %}{% for m in messages %}<|{{ 'user' if m.role == 'tool' else m.role }}|>{{ m.content }}{% if m.tool_calls %}{{ ns + '<tool_call>\n' }}{% for call in m.tool_calls %}{{ ns + '<invoke name="' + call.function.name + '">' }}{{ told(call.function.arguments, ns) }}{{ ns + '</invoke>\n' }}{% endfor %}{{ ns }}</tool_call>{% endif %}<|end|>{% endfor %}<|assistant|>`,
  smol: `{% if xml_tools %}<|system|>{% for tool in xml_tools[:] %}{{ tool | string }}{% endfor %}<tool_call>{"name": name, "arguments": object}</tool_call><|end|>{% endif %}{% for m in messages %}<|{{ 'user' if m.role == 'tool' else m.role }}|>{{ m.content }}<|end|>{% endfor %}<|assistant|>`,
  solar: `{% if tools %}<|system|>{{ tools | tojson }} <|tool_call:begin|>id<|tool_call:name|>name<|tool_call:args|>{}<|tool_call:end|><|end|>{% endif %}{% for m in messages %}{% if m.tool_calls %}{% if m.reasoning %}<|assistant|><|think|>{{ m.reasoning }}<|end|>{% endif %}<|begin|>assistant<|tool_calls|>{% for call in m.tool_calls %}<|tool_call:begin|>{{ call.id }}<|tool_call:name|>{{ call.function.name }}<|tool_call:args|>{{ call.function.arguments | tojson }}<|tool_call:end|>{% endfor %}<|calls|>{% else %}<|{{ 'user' if m.role == 'tool' else m.role }}|><|content|>{{ m.content }}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}{% if reasoning_effort in ['low', 'minimal'] %}<|begin|>assistant<|think|><|end|>{% endif %}<|begin|>assistant{% endif %}`,
  kimiTags: `{%- macro open(tag) -%}{{ '<|open|>' + tag + '<|sep|>' }}{%- endmacro -%}{%- macro close(tag) -%}{{ '<|close|>' + tag + '<|sep|>' }}{%- endmacro -%}
{%- if tools %}{{ open('message role="system" type="tool-declare"') }}{{ tools | tojson }}{{ close('message') }}{% endif %}{% for m in messages %}{{ open('message role="' + m.role + '"') }}{{ open('response') if m.role == 'assistant' }}{{ m.content }}{{ close('response') if m.role == 'assistant' }}{% if m.tool_calls %}{{ open('tools') }}{% for call in m.tool_calls %}{{ open('call tool="' + call.function.name + '" index="' + loop.index|string + '"') }}{% for k, v in call.function.arguments.items() %}{{ open('argument key="' + k + '" type="' + ('string' if v is string else 'number') + '"') }}{{ v if v is string else v | tojson }}{{ close('argument') }}{% endfor %}{{ close('call') }}{% endfor %}{{ close('tools') }}{% endif %}{{ close('message') }}<|end|>{% endfor %}{% if add_generation_prompt %}{{ open('message role="assistant"') }}{{ open('response' if thinking is defined and not thinking else 'think') }}{% endif %}`,
  receivers: `{% for m in messages %}{% if loop.first %}<|system|>Respond so:
>>>\${recipient}
content, to all with >>>all
{% for tool in tools or [] %}{{ tool | tojson }}{% endfor %}<|end|>{% endif %}<|{{ m.role if m.role != 'tool' else 'user' }}|>{% if m.role == 'assistant' %}{% if m.content %}{{ '>>>all\n' + m.content }}{% endif %}{% for call in m.tool_calls or [] %}{{ '>>>' + call.function.name + '\n' + call.function.arguments }}{% endfor %}{% else %}{{ m.content }}{% endif %}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>>>>{% endif %}`,
  glmNames: `{% if tools %}<|system|># 可用工具{% for tool in tools %}## {{ tool.function.name }} {{ tool.function | tojson }}{% endfor %}<|end|>{% endif %}{% for m in messages %}{% if m.role == 'tool' %}<|observation|>{{ m.content }}{% else %}<|{{ m.role }}|>{{ m.metadata }}
{{ m.content }}{% endif %}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`,
  intern: `{% if tools %}<|system|>{{ tools | tojson }}<|end|>{% endif %}{% for m in messages %}<|{{ 'user' if m.role == 'tool' else m.role }}|>{{ m.content }}{% for call in m.tool_calls or [] %}{{ '<|action_start|> <|plugin|>\n{"name": "' + call.function.name + '", "parameters": ' + call.function.arguments | tojson + '}<|action_end|>' }}{% endfor %}<|end|>{% endfor %}<|assistant|>`,
  functools: `{% for m in messages %}{% if loop.first %}<|system|>{{ 'Call with functools[{"name": name, "arguments": {}}], of:\n' + functions + '\nToday is ' + datetime }}<|end|>{% endif %}<|{{ 'user' if m.role == 'tool' else m.role }}|>{{ m.content }}{% if m.tool_calls %} functools[{% for call in m.tool_calls %}{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}{% if not loop.last %}, {% endif %}{% endfor %}]{% endif %}<|end|>{% endfor %}<|assistant|>`,
  actions: `{% for tool in tools or [] %}{% for k, of in tool.function.parameters.properties | items %}{{ tool.function.name + '(' + k + '): ' + of.description }}{% endfor %}{{ tool.function.name }}{% endfor %}{% for m in messages %}<|{{ 'system' if m.role == 'tool' else m.role }}|>{{ m.content }}{% if m.tool_calls %}{{ '\nAction:\n\u0060\u0060\u0060json\n[' }}{% for call in m.tool_calls %}{"tool_name": "{{ call.function.name }}", "parameters": {{ call.function.arguments | tojson }}}{% if not loop.last %}, {% endif %}{% endfor %}{{ ']\u0060\u0060\u0060\n' }}{% endif %}<|end|>{% endfor %}<|assistant|>`,
  gemmaPlain: `{% set first_user_prefix = '' %}{% for m in messages %}{% if m.role not in ['user', 'assistant'] %}{{ raise_exception('Only users!') }}{% endif %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}<|assistant|>{# <start_of_turn> #}`,
  smolPlain: `{# You are a helpful AI assistant named SmolLM #}{% for m in messages %}<|{{ 'user' if m.role == 'tool' else m.role }}|>{{ m.content }}<|end|>{% endfor %}<|assistant|>`,
};

/** Texts of the tiny model's marks, where a template's model has others. */
export const words: { readonly [name in keyof typeof templates]?: Record<string, string> } = {
  // There it ends no answer.
  solar: { "<|end|>": "<|flush|>" },
  glimmer: { "<|user|>": "<|start|>", "<|assistant|>": "<|eom|>", "<|system|>": "<|message|>" },
  harmony: { "<|user|>": "<|start|>", "<|assistant|>": "<|channel|>", "<|system|>": "<|message|>" },
};
