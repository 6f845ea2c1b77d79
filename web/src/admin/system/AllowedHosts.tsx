/** The hosts that commands of a project can connect to, and presets to add to them. */
import { Button, Textarea } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useRef } from "react";
import { api, data } from "../../api/client";
import { useTexts } from "../../i18n";
import { visible } from "../../shared/visible";
import css from "../parts/parts.module.css";
import { linesOf, withHost } from "./hosts";

interface Props {
  /** The form was opened for this field. */
  isFirst?: boolean;
  /** One host per line. */
  value: string;
  onChange: (value: string) => void;
  /** Ports are open to every host, so that no hosts can be listed beside them. */
  hasPorts: boolean;
  error: ReactNode;
}

export function AllowedHosts({ isFirst = false, value, onChange, hasPorts, error }: Props) {
  const { t } = useTexts();
  const presets = useQuery({
    queryKey: ["network-presets"],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: () => data(api.GET("/api/v1/admin/network/presets")),
  });
  // The form may come after its dialog has opened, which looks for the field only then.
  const input = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    const field = input.current;
    if (!isFirst || field === null) return;
    field.focus();
    field.setSelectionRange(field.value.length, field.value.length);
  }, [isFirst]);
  const lines = linesOf(value);
  // What stands there already can still be taken out.
  const isClosed = hasPorts && lines.length === 0;
  return (
    <div>
      <Textarea
        ref={input}
        label={t("system.hosts")}
        data-autofocus={isFirst || undefined}
        description={t(isClosed ? "system.hosts.closed" : "system.hosts.help")}
        classNames={{ input: "mono" }}
        autosize
        minRows={2}
        maxRows={10}
        spellCheck={false}
        autoCapitalize="off"
        disabled={isClosed}
        error={hasPorts && !isClosed ? t("system.hosts.or_ports") : error}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      {presets.data !== undefined && (
        <fieldset className={css.presets} aria-label={t("system.hosts.presets")}>
          {presets.data.presets.map(({ name, hosts }) => (
            <Button
              key={name}
              size="compact-xs"
              variant="default"
              aria-label={t("system.hosts.add", { name: visible(name) })}
              title={visible(hosts.join("\n"))}
              disabled={hasPorts || lines.includes(`preset:${name}`)}
              onClick={() => onChange(withHost(value, `preset:${name}`))}
            >
              {visible(name)}
            </Button>
          ))}
        </fieldset>
      )}
    </div>
  );
}
