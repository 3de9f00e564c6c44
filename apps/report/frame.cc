#include "apps/report/frame.h"

#include <algorithm>

#include "apps/report/text.h"

namespace swarm::report {
namespace {

constexpr size_t kColours = 10;

double share(double value, Range range) {
  const double width = range.high - range.low;
  if (!(width > 0)) return 0.5;
  return std::clamp((value - range.low) / width, 0.0, 1.0);
}

std::string attribute(const char* name, double value) {
  return std::string(" data-") + name + "=\"" + shortest(value, 12) + "\"";
}

std::string text_at(double x, double y, const char* css, const std::string& text) {
  return "<text class=\"" + std::string(css) + "\" x=\"" + fixed(x, 1) + "\" y=\"" + fixed(y, 1) +
         "\">" + escape(text) + "</text>";
}

}  // namespace

std::string colour_class(size_t colour) { return "c" + std::to_string(colour % kColours); }

double Frame::place_x(double value) const { return kLeft + share(value, x_) * kWidth; }
double Frame::place_y(double value) const { return kTop + (1 - share(value, y_)) * height_; }

std::string Frame::at(double x, double y) const {
  return fixed(place_x(x), 1) + "," + fixed(place_y(y), 2);
}

std::string Frame::centre(double x, double y) const {
  return "cx=\"" + fixed(place_x(x), 1) + "\" cy=\"" + fixed(place_y(y), 2) + "\"";
}

std::string Frame::open(const std::string& title, const std::string& x_label,
                        const std::string& y_label, bool with_y_axis) const {
  const double width = kLeft + kWidth + kRight, height = kTop + height_ + kBottom;
  std::string out = "<svg class=\"chart\" role=\"img\" viewBox=\"0 0 " + fixed(width, 0) + " " +
                    fixed(height, 0) + "\" aria-label=\"" + escape(title) + "\"" +
                    attribute("x0", x_.low) + attribute("x1", x_.high) + attribute("y0", y_.low) +
                    attribute("y1", y_.high) + attribute("left", kLeft) + attribute("top", kTop) +
                    attribute("width", kWidth) + attribute("height", height_) + ">\n";
  out += text_at(0, 14, "title", title);
  out += text_at(kLeft + kWidth, height - 4, "label end", x_label);
  if (!y_label.empty()) out += text_at(0, kTop + height_ + kBottom - 4, "label", y_label);
  out += "<g class=\"axes\">" + x_axis() + (with_y_axis ? y_axis() : "") + "</g>\n";
  return out;
}

std::string Frame::remark(const std::string& text) const {
  return text_at(kLeft + kWidth, 14, "label end", text);
}

std::string Frame::x_axis() const {
  std::string out;
  const double bottom = kTop + height_;
  for (const double value : ticks(x_, 8)) {
    const std::string x = fixed(place_x(value), 1);
    out += "<path d=\"M" + x + "," + fixed(kTop, 0) + "V" + fixed(bottom, 0) + "\"/>";
    out += text_at(place_x(value), bottom + 15, "tick middle", shortest(value));
  }
  return out;
}

std::string Frame::y_axis() const {
  std::string out;
  for (const double value : ticks(y_, 6)) {
    const std::string y = fixed(place_y(value), 1);
    out += "<path d=\"M" + fixed(kLeft, 0) + "," + y + "H" + fixed(kLeft + kWidth, 0) + "\"/>";
    out += text_at(kLeft - 6, place_y(value) + 4, "tick end", shortest(value));
  }
  return out;
}

}  // namespace swarm::report
