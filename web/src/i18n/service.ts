/** What the service says in English, in Chinese: by the stable code that comes with the sentence.

In English its own words are shown, as everywhere else. A code that is not here is shown in them too.
`{detail}` is what the sentence names after its last colon.
*/
import type { Language, Values } from ".";

const CHINESE: Readonly<Record<string, string>> = {
  "reason.absent": "{name} 已不在目录中。请安装提供它的插件或版本；其设置仍保留。",
  "reason.plugin_broken": "{name} 所属的插件未能加载。请查看“插件”页的错误，修复后重启。",
  "reason.unknown_agent": "该智能体不存在，因此不能使用任何工具。请先创建它。",
  "reason.disabled_global": "管理员已停用 {name}。在“工具”页打开其开关即可启用。",
  "reason.disabled_toolset": "管理员已停用 {name} 所属的工具集。请启用该工具集。",
  "reason.not_selected": "{name} 不在此智能体的可用范围内。请将其单独设为“启用”。",
  "reason.disabled_agent": "{name} 已对此智能体停用。请更改其单独设置。",
  "reason.subagent_not_allowed": "{name} 不供子智能体使用，请由智能体自身调用。",
  "reason.subagent_depth": "{name} 会启动子智能体，而此子智能体不可再委派。",
  "reason.subagent_not_given": "{name} 不在分配给此子智能体的工具中。",
  "reason.subagent_read_only": "{name} 可能更改内容，而子智能体仅可读取。",
  "reason.subagent_no_shell": "{name} 会运行命令，而子智能体不可使用 shell。",
  "reason.missing_config": "{name} 缺少配置：{detail}。请补全配置。",
  "reason.missing_program":
    "{name} 所需的程序未安装：{detail}。请安装到命令可找到的位置（如 /usr/local/bin）后重启。",
  "reason.no_sandbox": "{name} 缺少足够的沙箱隔离：{detail}。请查看“诊断”页。",
  "reason.platform": "{name} 不支持当前平台。",
};

/** The sentence in the reader's language. */
export function spoken(language: Language, code: string, english: string, values: Values): string {
  const template = language === "zh" ? CHINESE[code] : undefined;
  if (template === undefined) return english;
  const colon = english.lastIndexOf(": ");
  const told = { detail: colon < 0 ? "–" : english.slice(colon + 2), ...values };
  return template.replace(/\{(\w+)\}/g, (whole, name: string) =>
    String((told as Values)[name] ?? whole),
  );
}
