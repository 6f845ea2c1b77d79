"""Services of the data tools, bound to the operator's settings."""

from __future__ import annotations

from app.core.clock import Clock
from app.core.settings import Settings
from app.core.weather import WeatherSettings
from app.toolkit.services import Services
from app.tools.data.ports import CALCULATOR_RULES, CLOCK, CalculatorRules
from app.tools.data.weather.open_meteo import OpenMeteo
from app.tools.data.weather.reports import WEATHER, WeatherProvider
from app.tools.data.weather.simulated import SimulatedWeather


def offer_data_services(settings: Settings, services: Services, clock: Clock) -> None:
    """Register the services; without a weather provider `get_weather` is off."""
    services.register(CLOCK, clock)
    services.register(CALCULATOR_RULES, CalculatorRules(settings.calculator_functions))
    provider = weather_provider(settings.weather)
    if provider is not None:
        services.register(WEATHER, provider)


def weather_provider(settings: WeatherSettings) -> WeatherProvider | None:
    """Return the configured provider; there is no fallback to another."""
    match settings.provider:
        case "open-meteo":
            return OpenMeteo(settings)
        case "simulated":
            return SimulatedWeather()
        case "off":
            return None
